def validate(rt, epoch): raise AssertionError

"""`cumulus analyze FILE.yaml`: labels, the derivation, the picture, JSON, folding; what is wrong is said with its line."""

import json
import xml.etree.ElementTree as ET

import pytest
from click.testing import CliRunner

from cumulus_ops.cli.main import main
from cumulus_ops.coordination.labelling.labels import KINDS
from tests.support.golden import GOLDEN, compare_golden

FILES = GOLDEN / "coordination"
SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments, code=0):
    done = CliRunner().invoke(main, ["analyze", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done


def rows(output):
    """The lines of the table, by stream."""
    table = output.partition("\n\n")[0].splitlines()[1:]
    return {line.split("  ")[0]: [part.strip() for part in line.split("  ") if part.strip()][1:] for line in table}


def test_the_table_and_what_is_wrong():
    output = run(FILES / "ads_poor_sealed.yaml").stdout
    assert rows(output)["r"] == ["Inst", "Async", "none"]
    assert rows(output)["c"] == ["Seal_{campaign}", "Seal_{campaign}", "order, logged"]
    assert "ads_poor_sealed: Diverge: replicas' states stay different for good" in output
    assert "advice: a seal of c on id, or grouping by campaign as well would do instead" in output


def test_order_by_arrival_leaves_differences_between_runs():
    output = run(FILES / "ads_poor.yaml", "--order", "arrival").stdout
    assert rows(output)["answers"] == ["Diverge", "Run", "none"]
    assert rows(output)["c"][2] == "order, arrival"


def test_one_producer_of_each_value_needs_no_vote(tmp_path):
    file = tmp_path / "independent.yaml"
    text = (FILES / "ads_campaign_sealed.yaml").read_text()
    file.write_text(text.replace("Seal: [campaign]", "Seal: [campaign], producers: 1").replace("Rep: true", "Rep: 3"))
    output = run(file).stdout
    assert rows(output)["c"][2] == "seal on campaign, one producer"
    assert "a sealed value concerns one producer and 3 instances of Report" in output


def test_every_step_is_explained():
    assert run(FILES / "wordcount.yaml", "--explain").stdout == (FILES / "wordcount.txt").read_text()


def test_json_has_all_of_it():
    found = json.loads(run(FILES / "wordcount_sealed.yaml", "--json").stdout)
    assert (found["label"], found["coordinated"]) == ("Async", "Async")
    words = next(s for s in found["streams"] if s["name"] == "words")
    assert (words["label"], words["strategy"], words["key"], words["vote"]) == ("Seal_{batch}", "seal", ["batch"], True)
    step = next(s for s in found["steps"] if s["place"] == "Count.counts")
    assert (step["rule"], step["inputs"], step["path"]) == ("p", ["Seal_{batch}"], "words -> counts OW_{batch,word}")


@pytest.mark.parametrize("name", ["ads_poor", "ads_campaign_sealed", "wordcount"])
def test_the_picture_is_coloured_by_label_and_says_why(tmp_path, name):
    file = tmp_path / "picture.svg"
    analysed = json.loads(run(FILES / f"{name}.yaml", "--svg", file, "--json").stdout)
    picture = ET.parse(file).getroot()
    colours = {
        g.get("data-name"): set(g.get("class").split()) & set(KINDS)
        for g in picture.iter(f"{SVG}g")
        if g.get("data-name")
    }
    for stream in analysed["streams"]:
        if stream["source"] is None or stream["target"] is None:
            assert colours[stream["name"]] == {stream["label"].partition("_")[0]}
    titles = " ".join(t.text or "" for t in picture.iter(f"{SVG}title"))
    for step in analysed["steps"]:
        assert step["rule"] == "source" or step["reason"] in titles or step["rule"] == "label"
    dashed = [p for p in picture.iter(f"{SVG}path") if (p.get("class") or "").split()[-1:] == ["order"]]
    assert len(dashed) == 1 + sum(s["strategy"] == "order" for s in analysed["streams"])  # and one in the legend


def test_the_picture_of_the_documentation_is_ours(tmp_path):
    file = tmp_path / "picture.svg"
    run(FILES / "ads_poor.yaml", "--svg", file)
    compare_golden("../../docs/coordination.svg", file.read_text(encoding="utf-8"))


def test_a_group_can_be_folded():
    output = run(FILES / "ads_thresh.yaml", "--fold", "Service=Cache,Report", "--explain").stdout
    assert "request -> response  CW" in output
    assert "click -> response  CW" in output
    assert "Cache" not in output
    assert "no component 'Cash'" in run(FILES / "ads_thresh.yaml", "--fold", "Service=Cash", code=2).stderr


def test_folding_is_about_a_file(tmp_path):
    assert "FILE.yaml" in run(tmp_path, "--fold", "A=B", code=2).stderr


def test_a_mistake_is_shown_with_its_line(tmp_path):
    file = tmp_path / "wrong.yaml"
    file.write_text((FILES / "wordcount.yaml").read_text().replace("label: OW", "label: WO"))
    said = run(file, code=2).stderr
    assert "wrong.yaml:7" in said.replace("\n", "")
    assert "known: CR, CW, OR, OW" in said


def test_a_file_that_is_not_there_is_said(tmp_path):
    assert "no-file" in run(tmp_path / "none.yaml", code=2).stderr


def test_a_picture_where_none_can_be_written(tmp_path):
    run(FILES / "wordcount.yaml", "--svg", tmp_path / "no" / "picture.svg", code=2)

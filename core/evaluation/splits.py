"""Random, seeded, stratified splits that never put one patient on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy

Rows = npt.NDArray[np.intp]
#: Prefix of the names that :func:`split_units` gives to cases of one image without a known patient.
ONE_IMAGE = tr_lazy("one image, ")
Groups = Sequence[str | None] | npt.NDArray[np.str_] | npt.NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class HoldOut:
    """One split: ascending rows to fit on (``train``) and to test on (``test``), disjoint.

    ``by_patient``: patients are known, and none is on both sides. ``validation``: rows for selection, in
    neither part; none in most splits.
    """

    train: Rows
    test: Rows
    by_patient: bool
    seed: int
    validation: Rows = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def check_leakage(self, groups: Groups | None, n: int) -> None:
        """Check that no two parts share a case or a patient.

        Raises:
            BadInput: a case or a patient is in two parts.
        """
        check_leakage_between(self.train, self.test, groups, n)
        check_leakage_between(self.train, self.validation, groups, n)
        check_leakage_between(self.validation, self.test, groups, n)

    def swapped(self) -> HoldOut:
        """The split with training and test part exchanged."""
        return replace(self, train=self.test, test=self.train)


def patient_codes(groups: Groups | None, n: int) -> Rows | None:
    """(n,) a number per patient, or ``None`` if no patient is known.

    A case without a patient (``None`` or empty) counts as a patient of its own.

    Raises:
        BadInput: as many groups as rows are needed.
    """
    if groups is None:
        return None
    names = ["" if group is None else str(group) for group in groups]
    if len(names) != n:
        raise BadInput(
            tr_lazy("There are {n} patients for {n2} cases.", n=len(names), n2=n),
            "Give one patient for every case, or none at all.",
        )
    if not any(names):
        return None
    codes: dict[tuple[str, int], int] = {}
    keys = ((name, -1 if name else row) for row, name in enumerate(names))
    return np.array([codes.setdefault(key, len(codes)) for key in keys], dtype=np.intp)


def split_units(patients: Sequence[str | None], *shown: Sequence[object]) -> npt.NDArray[np.str_] | None:
    """(n,) names of the units that must not be split: cases of one patient, and cases equal in one of ``shown``.

    ``None`` in ``shown`` is equal to nothing. A unit with a patient has the patient's name; "" is a single case
    without a known patient. ``None`` if all cases are such.
    """
    units = linked(*(numbered(values, {}) for values in (patients, *shown)))
    names: dict[int, str] = {}
    for unit, patient in zip(units.tolist(), patients, strict=True):
        if patient:
            names.setdefault(unit, patient)
    sizes = np.bincount(units, minlength=len(units))
    labels = [names.get(one) or (f"{ONE_IMAGE}{one}" if sizes[one] > 1 else "") for one in units.tolist()]
    return np.array(labels, dtype=np.str_) if any(labels) else None


def numbered(values: Iterable[object], known: dict[object, int]) -> Rows:
    """(n,) a number for each of ``values``, from ``known``, which is added to; -1 for ``None`` and ""."""
    return np.array(
        [-1 if value is None or value == "" else known.setdefault(value, len(known)) for value in values],
        dtype=np.intp,
    )


def linked(*kinds: Rows) -> Rows:
    """(n,) for each case the first case of its unit: of those equal in one of ``kinds`` (n,), and of all that are
    linked by these; -1 is equal to nothing."""
    units = _first_places(kinds[0])
    for kind in kinds[1:]:
        others = units[_first_places(kind)]
        if (apart := units != others).any():
            units = _joined(units, units[apart], others[apart])
    return units


def _joined(units: Rows, some: Rows, others: Rows) -> Rows:
    """``units`` (n,) after each of ``some`` (e,) of them was joined with the one of ``others`` (e,)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(units)
    pairs = coo_array((np.ones(len(some), dtype=np.int8), (some, others)), shape=(n, n))
    groups = connected_components(pairs, directed=False)[1].astype(np.intp)
    joined: Rows = _first_places(groups)[units]
    return joined


def _first_places(kind: Rows) -> Rows:
    """(n,) where the number of each place stands first; for -1 its own place."""
    places = np.arange(len(kind))
    # The last element is for -1.
    first = np.empty(kind.max(initial=-1) + 2, dtype=np.intp)
    # Of several assignments to one number the last counts, which is that of the first place.
    first[kind[::-1]] = places[::-1]
    return np.where(kind < 0, places, first[kind])


def patients_known(groups: Groups | None) -> bool:
    """True when every case has a patient."""
    return groups is not None and len(groups) > 0 and all(group not in (None, "") for group in groups)


def check_leakage_between(train: Rows, test: Rows, groups: Groups | None, n: int) -> None:
    """Check that a split does not share a case or a patient between its sides.

    Raises:
        BadInput: a case or a patient is on both sides.
    """
    if np.intersect1d(train, test).size:
        raise BadInput("A case is in the training part and in the tested part.", "Split the cases again.")
    codes = patient_codes(groups, n)
    if codes is None:
        return
    shared = np.intersect1d(codes[train], codes[test])
    if shared.size:
        raise BadInput(
            tr_lazy(
                "{size} of the patients have cases in the training part and in the tested part.",
                size=shared.size,
            ),
            "Split by patient, so that every patient is on one side only.",
        )


def halves(y: Sequence[str], groups: Groups | None, seed: int) -> HoldOut:
    """Half of every finding to train, half to test; by patient where patients are known.

    Raises:
        BadInput: fewer than two cases, or than two patients.
    """
    return hold_out(y, groups, seed, test_fraction=0.5)


def hold_out(y: Sequence[str], groups: Groups | None, seed: int, test_fraction: float = 0.3) -> HoldOut:
    """``test_fraction`` of every finding (above 0, below 1; to within a case or a patient) is held out.

    Raises:
        BadInput: fewer than two cases, or than two patients.
    """
    findings = _codes(y)
    patients = patient_codes(groups, len(findings))
    _check_enough(len(findings), patients, 2)
    rng = np.random.default_rng(seed)
    if patients is None:
        order = _grouped_by_finding(findings, rng)
        test = np.empty(len(order), dtype=bool)
        test[order] = _evenly_spaced(len(order), test_fraction, rng)
    else:
        shares = np.array([1.0 - test_fraction, test_fraction])
        test = _assign_patients(findings, patients, np.outer(shares, np.bincount(findings)), rng) == 1
    return _hold_out(test, groups, seed)


def three_parts(
    y: Sequence[str], groups: Groups | None, seed: int, validation_fraction: float, test_fraction: float
) -> HoldOut:
    """Both fractions of every finding (to within a case or a patient) are held out in two parts.

    Raises:
        BadInput: fewer than three cases, or than three patients.
    """
    findings = _codes(y)
    patients = patient_codes(groups, len(findings))
    _check_enough(len(findings), patients, 3)
    rng = np.random.default_rng(seed)
    if patients is None:
        order = _grouped_by_finding(findings, rng)
        part = np.zeros(len(order), dtype=np.intp)
        test = _evenly_spaced(len(order), test_fraction, rng)
        if np.count_nonzero(~test) < 2:
            # The other two parts need at least one case each.
            test[np.flatnonzero(test)[0]] = False
        part[order[test]] = 2
        rest = order[~test]
        part[rest[_evenly_spaced(len(rest), validation_fraction / (1.0 - test_fraction), rng)]] = 1
    else:
        shares = np.array([1.0 - validation_fraction - test_fraction, validation_fraction, test_fraction])
        part = _assign_patients(findings, patients, np.outer(shares, np.bincount(findings)), rng)
    split = HoldOut(
        np.flatnonzero(part == 0),
        np.flatnonzero(part == 2),
        patients is not None,
        seed,
        np.flatnonzero(part == 1),
    )
    split.check_leakage(groups, len(findings))
    return split


def per_finding(y: Sequence[str], groups: Groups | None, seed: int, n_train: int) -> HoldOut:
    """``n_train`` random cases of every finding to train, the rest to test.

    If patients are known, whole patients are assigned, so the number can differ by a few cases.

    Raises:
        BadInput: a finding has no more than ``n_train`` cases, or there are fewer than two patients.
    """
    findings = _codes(y)
    counts = np.bincount(findings)
    if len(counts) == 0 or counts.min() <= n_train:
        raise BadInput(
            tr_lazy(
                "A finding has no more than {n_train} cases, so nothing of it would be left to test.",
                n_train=n_train,
            ),
            "Use random halves instead.",
        )
    patients = patient_codes(groups, len(findings))
    _check_enough(len(findings), patients, 2)
    rng = np.random.default_rng(seed)
    if patients is None:
        test = np.ones(len(findings), dtype=bool)
        for finding in range(len(counts)):
            test[rng.permutation(np.flatnonzero(findings == finding))[:n_train]] = False
    else:
        targets = np.stack([np.full(len(counts), float(n_train)), counts - float(n_train)])
        test = _assign_patients(findings, patients, targets, rng) == 1
    return _hold_out(test, groups, seed)


def folds(y: Sequence[str], groups: Groups | None, seed: int, k: int) -> list[HoldOut]:
    """``k`` splits; every case is tested in exactly one of them.

    Raises:
        BadInput: fewer cases, or patients, than folds.
    """
    findings = _codes(y)
    patients = patient_codes(groups, len(findings))
    _check_enough(len(findings), patients, k)
    rng = np.random.default_rng(seed)
    if patients is None:
        part = np.empty(len(findings), dtype=np.intp)
        part[_grouped_by_finding(findings, rng)] = np.arange(len(findings)) % k
    else:
        part = _assign_patients(findings, patients, np.outer(np.full(k, 1.0 / k), np.bincount(findings)), rng)
    return [_hold_out(part == fold, groups, seed) for fold in range(k)]


def _codes(y: Sequence[str]) -> Rows:
    return np.unique(np.asarray(y, dtype=str), return_inverse=True)[1].astype(np.intp)


def _check_enough(n: int, patients: Rows | None, parts: int) -> None:
    units, what = (n, "cases") if patients is None else (len(np.unique(patients)), "patients")
    if units < parts:
        raise BadInput(
            tr_lazy(
                "There are too few {what} ({units}) to split into {parts} parts.",
                what=what,
                units=units,
                parts=parts,
            ),
            tr_lazy("At least {parts} {what} are needed.", parts=parts, what=what),
        )


def _hold_out(test: npt.NDArray[np.bool_], groups: Groups | None, seed: int) -> HoldOut:
    train_rows, test_rows = np.flatnonzero(~test), np.flatnonzero(test)
    check_leakage_between(train_rows, test_rows, groups, len(test))
    return HoldOut(train_rows, test_rows, patient_codes(groups, len(test)) is not None, seed)


def _evenly_spaced(n: int, fraction: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """(n,) ``fraction`` of the places, evenly spread from a random start; at least one and not all."""
    selected: npt.NDArray[np.bool_] = np.diff(np.floor(np.arange(n + 1) * fraction + rng.random())) > 0
    if selected.all() or not selected.any():
        selected[rng.integers(n)] ^= True
    return selected


def _grouped_by_finding(findings: Rows, rng: np.random.Generator) -> Rows:
    """Rows in random order, grouped by finding.

    Assigning them to the parts in turn keeps each finding and the total within one case of its share.
    """
    shuffled = rng.permutation(len(findings))
    finding_order = rng.permutation(int(findings.max()) + 1)
    return shuffled[np.argsort(finding_order[findings[shuffled]], kind="stable")]


def _assign_patients(
    findings: Rows, patients: Rows, targets: npt.NDArray[np.float64], rng: np.random.Generator
) -> Rows:
    """(n,) the part of every case; whole patients, so that part p has about ``targets[p, finding]`` cases.

    Patients are assigned in random order, each to the part where the sum of (cases - target)^2 / target grows
    least. The best of a few random orders is returned.
    """
    n_patients, n_findings = int(patients.max()) + 1, targets.shape[1]
    counts = np.zeros((n_patients, n_findings))
    np.add.at(counts, (patients, findings), 1.0)
    best, best_cost = np.zeros(n_patients, dtype=np.intp), np.inf
    for _ in range(int(np.clip(20_000 // n_patients, 1, 10))):
        part, cost = _try_assignment(counts, targets, rng)
        if cost < best_cost:
            best, best_cost = part, cost
    return best[patients]


def _try_assignment(
    counts: npt.NDArray[np.float64], targets: npt.NDArray[np.float64], rng: np.random.Generator
) -> tuple[Rows, float]:
    part_counts = np.zeros_like(targets)
    part = np.empty(len(counts), dtype=np.intp)
    weight = 1.0 / targets
    for patient in rng.permutation(len(counts)):
        patient_counts = counts[patient]
        cost_increase = ((2.0 * (part_counts - targets) + patient_counts) * weight) @ patient_counts
        # Ties go to the smallest part, so that none stays empty, then to a random one.
        cost_increase += 1e-6 * part_counts.sum(axis=1) / targets.sum(axis=1) + 1e-9 * rng.random(
            len(targets)
        )
        part[patient] = cost_increase.argmin()
        part_counts[part[patient]] += patient_counts
    sizes = counts.sum(axis=1)
    for empty in set(range(len(targets))) - set(part.tolist()):
        largest = np.bincount(part, minlength=len(targets)).argmax()
        donors = np.flatnonzero(part == largest)
        patient_moved = donors[sizes[donors].argmin()]
        part[patient_moved] = empty
        part_counts[largest] -= counts[patient_moved]
        part_counts[empty] += counts[patient_moved]
    return part, float((np.square(part_counts - targets) * weight).sum())

"""The ways of spending clicks that are compared; each gives the held-out score after some numbers of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm
from semblance.core.searches.judgement import Judgement, JudgementKind
from semblance.core.searches.questions import (
    LikenessModel,
    Question,
    answer_judgements,
    choose_question,
    draw_query,
    nearer,
    nearness_sample,
)
from semblance.core.searches.relevance_feedback import learn
from tests.benchmarks.clicks.tables import SplitTable
from tests.benchmarks.clicks.users import User

MARKS = (0, 5, 10, 20, 40, 80)
#: The metric that questions are chosen by is learnt after each of the first clicks, then after every fifth.
_EARLY, _EVERY = 5, 5
PAGE = 20
_MARGIN_POOL = 200
#: Rocchio's weights of what is liked and what is not (Salton and Buckley 1990).
_TOWARDS, _AWAY = 0.75, 0.15

#: Judgements a click is, one click after another; it is told the form learnt so far.
_Clicks = Iterator[list[Judgement]]


class _Learner:
    def __init__(self, split_table: SplitTable) -> None:
        self.Z = split_table.train.Z
        self.said: list[Judgement] = []
        self.beginning = split_table.beginning
        self.form = self.start()

    def start(self) -> FeedbackForm:
        """The metric as it was."""
        return FeedbackForm.start(self.Z.shape[1], self.beginning)

    def learn(self) -> None:
        m = self.Z.shape[1]
        self.form = learn(self.said, lambda key: self.Z[int(key)], m, initial_weights=self.beginning)


def clicked(arm: Callable[[_Learner, User, np.random.Generator], _Clicks]) -> Callable[..., list[float]]:
    """The score of an arm after each number of clicks in MARKS."""

    def scores(split_table: SplitTable, wrong: float, seed: int) -> list[float]:
        learner, user = _Learner(split_table), User(split_table.train.y, wrong, seed)
        clicks = arm(learner, user, np.random.default_rng([seed, 2]))
        out = [split_table.accuracy(learner.form)]
        for number in range(1, MARKS[-1] + 1):
            learner.said += next(clicks)
            if number in MARKS or number <= _EARLY or number % _EVERY == 0:
                learner.learn()
            if number in MARKS:
                out.append(split_table.accuracy(learner.form))
        return out

    return scores


def ask_me_next(learner: _Learner, user: User, rng: np.random.Generator) -> _Clicks:
    """The questions Semblance asks."""
    everyone = np.ones(len(learner.Z), dtype=np.bool_)
    start, sample = learner.start(), nearness_sample(learner.Z)
    asked: list[int] = []
    shares: list[float] = []
    alike: list[bool] = []
    likeness = LikenessModel()
    while True:
        query = draw_query(asked, rng, everyone)
        assert query is not None
        asked.append(query)
        judged: list[int] = []
        of_query = nearer(learner.Z, learner.Z[query], sample, start)
        while not likeness.should_change_query(len(judged) // 2):
            one = choose_question(learner.Z, learner.form, query, likeness, judged, rng)
            if one is None:
                break
            said = _answered(user, one)
            judged += [one.first, one.second]
            shares += of_query[[one.first, one.second]].tolist()
            alike += [judgement.kind == JudgementKind.ALIKE for judgement in said]
            likeness = LikenessModel.of(np.array(shares), alike)
            yield said


def thumbs(learner: _Learner, user: User, rng: np.random.Generator) -> _Clicks:
    """Likes and dislikes, in any order, of the first 20 cases of one query after another."""
    while True:
        query = int(rng.integers(len(learner.Z)))
        squared = learner.form.squared(learner.Z - learner.Z[query])
        squared[query] = np.inf
        page = np.argsort(squared, kind="stable")[:PAGE].tolist()
        for case in rng.permutation(page).tolist():
            kind = JudgementKind.ALIKE if user.alike(query, case) else JudgementKind.NOT_ALIKE
            yield [Judgement(kind, str(query), str(case), shown=tuple(map(str, page)))]


def random_questions(learner: _Learner, user: User, rng: np.random.Generator) -> _Clicks:
    """Three cases drawn at random."""
    while True:
        yield _answered(user, Question(*rng.choice(len(learner.Z), 3, replace=False).tolist()))


def smallest_margin(learner: _Learner, user: User, rng: np.random.Generator) -> _Clicks:
    """Of 200 questions drawn at random, the one whose two cases are most nearly equally far."""
    while True:
        drawn = np.array([rng.choice(len(learner.Z), 3, replace=False) for _ in range(_MARGIN_POOL)])
        first, second = (
            learner.form.squared(learner.Z[drawn[:, side]] - learner.Z[drawn[:, 0]]) for side in (1, 2)
        )
        yield _answered(user, Question(*drawn[np.argmin(np.abs(first - second))].tolist()))


def rocchio(split_table: SplitTable, wrong: float, seed: int) -> list[float]:
    """The same thumbs move the query, not the metric: a held-out one moves as the nearest judged one did."""
    learner, user = _Learner(split_table), User(split_table.train.y, wrong, seed)
    clicks = thumbs(learner, user, np.random.default_rng([seed, 2]))
    judged: dict[int, dict[JudgementKind, list[int]]] = {}
    Z, H = learner.form.embed(split_table.train.Z), learner.form.embed(split_table.test.Z)
    out = [split_table.test.accuracy(H)]
    for number in range(1, MARKS[-1] + 1):
        (one,) = next(clicks)
        of_query = judged.setdefault(int(one.query), {JudgementKind.ALIKE: [], JudgementKind.NOT_ALIKE: []})
        of_query[one.kind].append(int(one.case))
        if number in MARKS:
            out.append(split_table.test.accuracy(H, _moved(Z, H, judged)))
    return out


def _moved(Z: np.ndarray, H: np.ndarray, judged: dict[int, dict[JudgementKind, list[int]]]) -> np.ndarray:
    places = list(judged)
    shifts = []
    for query, said in judged.items():
        shift = np.zeros(Z.shape[1])
        for kind, weight in ((JudgementKind.ALIKE, _TOWARDS), (JudgementKind.NOT_ALIKE, -_AWAY)):
            if said[kind]:
                shift += weight * (Z[said[kind]].mean(axis=0) - Z[query])
        shifts.append(shift)
    nearest = ((H[:, np.newaxis] - Z[places]) ** 2).sum(axis=2).argmin(axis=1)
    moved: np.ndarray = H + np.stack(shifts)[nearest]
    return moved


def _answered(user: User, one: Question) -> list[Judgement]:
    return answer_judgements(
        user.answer(one.query, one.first, one.second), str(one.query), str(one.first), str(one.second)
    )


ARMS: dict[str, Callable[..., list[float]]] = {
    "ask me next": clicked(ask_me_next),
    "thumbs in the top 20": clicked(thumbs),
    "random questions": clicked(random_questions),
    "smallest margin": clicked(smallest_margin),
    "Rocchio": rocchio,
}

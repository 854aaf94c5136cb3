// Form values of a limit ⇄ what the contract wants. Pure.
import type { Limit, LimitDraft, SubjectLimitDraft } from "#contract/limit.ts";
import {
  isManaged,
  isWindowKind,
  type LimitKind,
  type LimitMode,
  type LimitWindow,
  type ManagedSubject,
} from "#contract/limit-words.ts";

export interface LimitValues {
  readonly subject: ManagedSubject;
  /** Of `user`. */
  readonly username: string;
  readonly subject_name: string;
  readonly model_pattern: string;
  readonly kind: LimitKind;
  readonly amount: number | null;
  readonly time_window: LimitWindow;
  readonly anchor: number;
  readonly mode: LimitMode;
}

const NEW: LimitValues = {
  subject: "user",
  username: "",
  subject_name: "default",
  model_pattern: "",
  kind: "quota",
  amount: null,
  time_window: "month",
  anchor: 1,
  mode: "hard",
};

export function valuesOf(limit: Limit | undefined): LimitValues {
  if (limit === undefined) return NEW;
  const { subject, subject_label, subject_name, model_pattern, kind, amount, time_window, anchor, mode } =
    limit;
  return {
    subject: isManaged(subject) ? subject : "user",
    username: subject === "user" ? subject_label : "",
    subject_name,
    model_pattern,
    kind,
    amount,
    time_window,
    anchor,
    mode,
  };
}

/** How a call that does not fit may be treated by limits of this kind. */
export function modesOf(kind: LimitKind): readonly LimitMode[] {
  if (kind === "cost") return ["hard", "clamp"];
  return isWindowKind(kind) ? ["hard", "soft"] : ["hard"];
}

/** What is sent; what the kind does not have is as if it was never chosen. */
export function draftOf(values: LimitValues): Omit<LimitDraft, "id"> {
  const { kind, mode, model_pattern, amount, time_window, anchor } = values;
  return {
    kind,
    model_pattern: model_pattern.trim(),
    amount: amount ?? 0,
    time_window: isWindowKind(kind) ? time_window : "total",
    anchor: isWindowKind(kind) && time_window === "month" ? anchor : 1,
    mode: modesOf(kind).includes(mode) ? mode : "hard",
  };
}

/** A user is meant by name; the server finds the id. */
export function subjectDraftOf(values: LimitValues): SubjectLimitDraft {
  const { subject, username, subject_name } = values;
  const names = { user: username.trim(), group: subject_name.trim(), member: subject_name.trim(), all: "" };
  return { ...draftOf(values), subject, subject_id: 0, subject_name: names[subject] };
}

/** All limits of a token after this one was made or changed: the others stay as they are and go on counting. */
export function tokenDrafts(
  all: readonly Limit[],
  changed: Omit<LimitDraft, "id">,
  id?: number,
): LimitDraft[] {
  const kept = all.map((limit) =>
    limit.id === id ? { ...changed, id } : { ...shapeOf(limit), id: limit.id },
  );
  return id === undefined ? [...kept, changed] : kept;
}

/** The same without one of them. */
export function tokenDraftsWithout(all: readonly Limit[], id: number): LimitDraft[] {
  return all.filter((limit) => limit.id !== id).map((limit) => ({ ...shapeOf(limit), id: limit.id }));
}

function shapeOf({ kind, model_pattern, amount, time_window, anchor, mode }: Limit): Omit<LimitDraft, "id"> {
  return { kind, model_pattern, amount, time_window, anchor, mode };
}

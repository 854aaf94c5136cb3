// One section of options: a form that checks everything, then sends what changed, one option after the other.
import { useQueryClient } from "@tanstack/react-query";
import { Button, Form, type FormInstance } from "antd";
import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from "react";
import { call, invalidate, query, useOnce } from "#console/base/call.ts";
import { isRoot, useMay, useUser } from "#console/base/session.ts";
import { refreshStatus } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { useDraft } from "#console/ui/draft.ts";
import { LeaveGuard } from "#console/ui/resource-form.tsx";
import { channelApi } from "#contract/channel.ts";
import { type OptionKey, optionApi, optionTable } from "#contract/option.ts";
import { OptionField } from "./option-field.tsx";
import {
  changesOf,
  type FieldValues,
  kindOf,
  type OptionChange,
  rowOf,
  shownOf,
  textOf,
  textsOf,
  valuesOf,
} from "./option-values.ts";
import {
  type Bases,
  completeRatios,
  isRatioKey,
  mergedRatios,
  type RatioKey,
  readRatios,
} from "./ratio-rows.ts";
import type { Section } from "./section.ts";

export interface OptionSectionProps {
  readonly section: Section;
  /** Key → text as the server tells; another map only when it told again. */
  readonly stored: ReadonlyMap<string, string>;
  /** More of this section, under the form. */
  readonly children?: ReactNode;
}

/** The name under which a draft keeps what a price table was when its edit began. */
const baseOf = (key: OptionKey) => `${key} before`;

/** What the fields of a draft were filled with: price tables as they were then, everything else as it is stored now. */
function filledOf(
  stored: ReadonlyMap<string, string>,
  keys: readonly OptionKey[],
  draft?: Partial<FieldValues>,
) {
  const filled = new Map(stored);
  for (const key of keys) {
    const base = draft?.[baseOf(key)];
    if (typeof base === "string") filled.set(key, base);
  }
  return filled;
}

/**
 * The form shows what is stored, also when that changes elsewhere; what was typed and is not stored yet stays as it is, in price tables row
 * by row. Returns what was typed before a session ended, what would have to be sent now, how it joins what another administrator has
 * stored meanwhile, and what to do with an option that the server has taken.
 */
function useStored(
  form: FormInstance<FieldValues>,
  keys: readonly OptionKey[],
  stored: ReadonlyMap<string, string>,
) {
  const draft: Partial<FieldValues> | undefined = useDraft<FieldValues>(
    keys
      .filter((key) => kindOf(key) !== "secret")
      .flatMap((key) => (isRatioKey(key) ? [key, baseOf(key)] : [key])),
    () =>
      Object.fromEntries(
        changes().flatMap(({ key }) => [
          [key, form.getFieldValue(key)],
          [baseOf(key), filled.current.get(key) ?? ""],
        ]),
      ),
  );
  /** What each field was filled with, by key. */
  const filled = useRef(filledOf(stored, keys, draft));
  const changes = () => changesOf(keys, form.getFieldsValue(true), filled.current);
  const join = ({ key, value: mine }: OptionChange, told: ReadonlyMap<string, string>) => {
    const [base, theirs] = [filled.current.get(key) ?? "", told.get(key) ?? ""];
    return isRatioKey(key) && base !== theirs ? mergedRatios(key, { base, mine, theirs }) : mine;
  };
  const fill = useEffectEvent((told: ReadonlyMap<string, string>) => {
    const typed = new Map(changes().map((change) => [change.key, join(change, told)]));
    const free = keys.filter((key) => !typed.has(key));
    form.setFieldsValue(valuesOf(free, told));
    const next = new Map(told);
    for (const [key, text] of typed) {
      // A table that is still being typed is joined when it is one.
      if (text === undefined) next.set(key, filled.current.get(key) ?? "");
      else if (isRatioKey(key)) form.setFieldValue(key, text);
    }
    filled.current = next;
  });
  useEffect(() => fill(stored), [stored]);
  /** `mine`: what the form held of it when it was sent. */
  const take = ({ key, value }: OptionChange, mine: string) => {
    filled.current.set(key, value);
    // Not what was typed on while it was sent.
    if (textOf(key, form.getFieldValue(key)) === mine) form.setFieldValue(key, shownOf(key, value));
  };
  return { draft, changes, join, take };
}

/**
 * Sends the changes in order; what was stored before a refusal stays stored. Price tables are joined with what is stored now: that list,
 * with what was saved in it, is then the newest there is.
 */
function useSave({ join, take }: Pick<ReturnType<typeof useStored>, "join" | "take">) {
  const client = useQueryClient();
  const { queryKey } = query(optionApi.list, {});
  return useOnce({
    mutationKey: [optionApi.update.path],
    mutationFn: async (changes: readonly OptionChange[]) => {
      const isTable = changes.some(({ key }) => isRatioKey(key));
      let list = isTable ? await call(optionApi.list, {}) : undefined;
      const told = list && textsOf(list);
      for (const change of changes) {
        const { key } = change;
        const value = (told && join(change, told)) ?? change.value;
        await call(optionApi.update, { body: { key, value } });
        take({ key, value }, change.value);
        const text = isRatioKey(key) ? completeRatios(key, value) : value;
        list = list?.map((option) => (option.key === key ? { key, value: text } : option));
      }
      return list;
    },
    onSuccess: () => toast.success(),
    onSettled: async (list) => {
      if (list === undefined) await invalidate(client, [optionApi.list]);
      else client.setQueryData(queryKey, list);
      await invalidate(client, [channelApi.unpriced]);
      await refreshStatus(client);
    },
  });
}

function basesOf(stored: ReadonlyMap<string, string>): Bases {
  const read = (key: RatioKey) => readRatios(key, stored.get(key) ?? "{}") ?? {};
  const units = optionTable.ModelUnits.schema.safeDecode(stored.get("ModelUnits") ?? "{}").data ?? {};
  return { models: read("ModelRatio"), audio: read("AudioRatio"), image: read("ImageRatio"), units };
}

/** One large field alone under a title of the same name; two of them need their own labels. */
function isTitledBy(section: Section, key: OptionKey): boolean {
  const large = section.fields.filter((field) => ["html", "ratio"].includes(kindOf(field.key)));
  return large.length === 1 && large[0]?.key === key;
}

function SectionForm({ section, stored }: OptionSectionProps) {
  const keys = section.fields.map(({ key }) => key);
  const isTop = isRoot(useUser());
  const mayWrite = useMay("option.write");
  const [form] = Form.useForm<FieldValues>();
  const { draft, changes, join, take } = useStored(form, keys, stored);
  const [isDirty, setDirty] = useState(draft !== undefined);
  const save = useSave({ join, take });
  const bases = basesOf(stored);
  const isLocked = (key: OptionKey) => !mayWrite || (rowOf(key).root === true && !isTop);
  const submit = () => {
    const due = changes();
    if (due.length === 0) {
      toast.info("没有需要保存的修改");
      return;
    }
    save.mutate(due, { onSuccess: () => setDirty(changes().length > 0) });
  };
  return (
    <Form<FieldValues>
      form={form}
      layout="vertical"
      className="tg-option-form"
      initialValues={{ ...valuesOf(keys, stored), ...draft }}
      validateTrigger="onBlur"
      scrollToFirstError={{ behavior: "smooth", block: "center", focus: true }}
      onValuesChange={() => setDirty(true)}
      onFinish={submit}
    >
      {isDirty ? <LeaveGuard /> : null}
      <div className="tg-option-grid">
        {section.fields.map(({ key, help }) => (
          <OptionField
            key={key}
            optionKey={key}
            help={help}
            isLocked={isLocked(key)}
            isTitled={isTitledBy(section, key)}
            isConfigured={stored.get(`${key}Configured`) === "true"}
            bases={bases}
          />
        ))}
      </div>
      {keys.every(isLocked) ? null : (
        <Button type="primary" htmlType="submit" loading={save.isPending}>
          {section.submit}
        </Button>
      )}
    </Form>
  );
}

export function OptionSection(props: OptionSectionProps) {
  const { section, children } = props;
  return (
    <section className="tg-card tg-section" id={section.id} tabIndex={-1}>
      <h2>{section.title}</h2>
      <p>{section.text}</p>
      <SectionForm {...props} />
      {children}
    </section>
  );
}

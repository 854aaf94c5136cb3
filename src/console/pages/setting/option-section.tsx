// One section of options: a form that checks everything, then sends what changed, one option after the other.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Button, Form } from "antd";
import { type ReactNode, useState } from "react";
import { call } from "#console/base/call.ts";
import { isRoot, useUser } from "#console/base/session.ts";
import { refreshStatus } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { LeaveGuard } from "#console/ui/resource-form.tsx";
import { type OptionKey, optionApi } from "#contract/option.ts";
import { OptionField } from "./option-field.tsx";
import { changesOf, type FieldValues, kindOf, rowOf, valuesOf } from "./option-values.ts";
import { type Bases, type RatioKey, readRatios } from "./ratio-rows.ts";
import type { Section } from "./sections.ts";

export interface OptionSectionProps {
  readonly section: Section;
  /** Key → text as the server tells. */
  readonly stored: ReadonlyMap<string, string>;
  /** More of this section, under the form. */
  readonly children?: ReactNode;
}

/** Sends the changes in order; what was stored before a refusal stays stored. */
function useSave(keys: readonly OptionKey[], stored: ReadonlyMap<string, string>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (values: FieldValues) => {
      for (const change of changesOf(keys, values, stored)) await call(optionApi.update, { body: change });
    },
    onSuccess: () => toast.success(),
    onSettled: async () => {
      await client.invalidateQueries({ queryKey: [optionApi.list.path] });
      await refreshStatus(client);
    },
  });
}

function basesOf(stored: ReadonlyMap<string, string>): Bases {
  const read = (key: RatioKey) => readRatios(key, stored.get(key) ?? "{}") ?? {};
  return { models: read("ModelRatio"), audio: read("AudioRatio"), image: read("ImageRatio") };
}

/** One large field alone under a title of the same name; two of them need their own labels. */
function isTitledBy(section: Section, key: OptionKey): boolean {
  const large = section.fields.filter((field) => ["html", "ratio"].includes(kindOf(field.key)));
  return large.length === 1 && large[0]?.key === key;
}

function SectionForm({ section, stored }: OptionSectionProps) {
  const keys = section.fields.map(({ key }) => key);
  const isTop = isRoot(useUser());
  const [isDirty, setDirty] = useState(false);
  const save = useSave(keys, stored);
  const bases = basesOf(stored);
  const isAllLocked = keys.every((key) => rowOf(key).root === true && !isTop);
  const submit = (values: FieldValues) => {
    if (changesOf(keys, values, stored).length === 0) {
      toast.info("没有需要保存的修改");
      return;
    }
    save.mutate(values, { onSuccess: () => setDirty(false) });
  };
  return (
    <Form<FieldValues>
      layout="vertical"
      className="tg-option-form"
      initialValues={valuesOf(keys, stored)}
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
            isLocked={rowOf(key).root === true && !isTop}
            isTitled={isTitledBy(section, key)}
            isConfigured={stored.get(`${key}Configured`) === "true"}
            bases={bases}
          />
        ))}
      </div>
      {isAllLocked ? null : (
        <Button type="primary" htmlType="submit" loading={save.isPending}>
          {section.submit}
        </Button>
      )}
    </Form>
  );
}

export function OptionSection(props: OptionSectionProps) {
  const { section, stored, children } = props;
  // Stored texts seed the form anew when the server tells of others.
  const seed = section.fields
    .map(({ key }) => `${stored.get(key) ?? ""}\n${stored.get(`${key}Configured`) ?? ""}`)
    .join("\n");
  return (
    <section className="tg-card tg-section" id={section.id} tabIndex={-1}>
      <h2>{section.title}</h2>
      <p>{section.text}</p>
      <SectionForm key={seed} {...props} />
      {children}
    </section>
  );
}

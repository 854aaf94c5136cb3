// The fields of a channel in three parts: what it is, how to reach it, what it serves.
import { Form, type FormInstance } from "antd";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { useModelsByType } from "#console/base/models.ts";
import { toast } from "#console/base/toast.ts";
import { useToList } from "#console/ui/form-way.ts";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { type Channel, channelApi } from "#contract/channel.ts";
import { AccessFields } from "./access-fields.tsx";
import { IdentityFields } from "./identity-fields.tsx";
import { ServiceFields } from "./service-fields.tsx";
import {
  afterTypeChange,
  type ChannelValues,
  draftOf,
  otherAfterType,
  updateOf,
  valuesOf,
} from "./values.ts";
import "./fields.css";

interface PartsProps {
  readonly form: FormInstance<ChannelValues>;
  /** undefined = a new channel. */
  readonly channel: Channel | undefined;
}

function Parts({ form, channel }: PartsProps) {
  const byType = useModelsByType();
  const type = Form.useWatch("type", form) ?? form.getFieldValue("type");
  const changeType = (next: number) => {
    const values = { ...form.getFieldsValue(true), type };
    if (channel === undefined) return form.setFieldsValue(afterTypeChange(values, next, byType));
    // The settings of an existing channel are the operator's, but for what means something else to another type.
    const other = next === channel.type ? channel.other : otherAfterType(values, next);
    form.setFieldsValue({ other });
  };
  return (
    <>
      <IdentityFields onType={changeType} />
      <AccessFields type={type} isNew={channel === undefined} />
      <ServiceFields type={type} channelId={channel?.id} />
    </>
  );
}

/** All but the key. */
const KEPT = [
  "type",
  "name",
  "group",
  "base_url",
  "other",
  "models",
  "model_mapping",
  "is_batch",
  "priority",
  "weight",
] as const;

export function ChannelForm({ channel: found }: { readonly channel?: Channel }) {
  // What was edited is the difference to what the form was opened with, whatever is read later.
  const [channel] = useState(found);
  const toList = useToList("/channel");
  const invalidates = [channelApi.list, channelApi.search, channelApi.get, channelApi.unpriced];
  const create = useCall(channelApi.create, {
    invalidates,
    onSuccess: (count) => toast.success(count > 1 ? `已创建 ${count} 个渠道！` : "渠道创建成功！"),
  });
  const update = useCall(channelApi.update, {
    invalidates,
    onSuccess: () => toast.success("渠道更新成功！"),
  });
  const submit = (values: ChannelValues) =>
    channel === undefined
      ? create.mutateAsync({ body: draftOf(values) })
      : update.mutateAsync({ body: updateOf(channel, values) });
  return (
    <ResourceForm<ChannelValues>
      initial={valuesOf(channel)}
      kept={KEPT}
      onSubmit={submit}
      onDone={toList}
      onCancel={toList}
    >
      {(form) => <Parts form={form} channel={channel} />}
    </ResourceForm>
  );
}

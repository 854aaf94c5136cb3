// What can be set of one key: its name, share, models and way out. The key itself is replaced by adding another one.
import { Form, Select } from "antd";
import { useCall } from "#console/base/call.ts";
import { clearable } from "#console/ui/clearable.tsx";
import { closing } from "#console/ui/closing.ts";
import { FormDialog } from "#console/ui/form-dialog.tsx";
import { NumberInput } from "#console/ui/number-input.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { type ChannelKey, channelKeyApi } from "#contract/channel-key.ts";
import { keyName } from "./key-columns.tsx";
import { type KeyValues, keyChange, keyValues } from "./key-values.ts";
import { LimitInputs, TimeInputs } from "./limit-fields.tsx";

export interface KeyDialogProps {
  readonly id: number;
  readonly row: ChannelKey;
  readonly models: readonly string[];
  readonly onClose: () => void;
}

export function KeyDialog({ id, row, models, onClose }: KeyDialogProps) {
  const update = useCall(channelKeyApi.update, closing([channelKeyApi.list], "密钥已保存", onClose));
  const send = (values: KeyValues) => {
    const change = keyChange(row, values);
    if (change === undefined) onClose();
    else update.mutate({ params: { id }, body: { ids: [row.id], ...change } });
  };
  return (
    <FormDialog<KeyValues>
      title={`编辑密钥 ${keyName(row)}`}
      width={600}
      okText="保存"
      isBusy={update.isPending}
      initialValues={keyValues(row)}
      onFinish={send}
      onClose={onClose}
    >
      <div className="tg-form-row">
        <TextField name="name" label="名称" maxLength={100} placeholder="例如：账号甲" />
        <Form.Item name="weight" label="权重" extra="选择方式为“按权重”时有效。">
          <NumberInput min={0} max={1_000_000} precision={0} style={{ width: "100%" }} />
        </Form.Item>
      </div>
      <Form.Item name="models" label="可用模型" extra="不选表示渠道的全部模型。">
        <Select
          mode="multiple"
          allowClear={clearable}
          placeholder="全部"
          options={models.map((model) => ({ value: model, label: model }))}
        />
      </Form.Item>
      <LimitInputs />
      <TimeInputs usual="同渠道" />
      <TextField
        name="proxy"
        label="出站代理"
        extra={
          row.proxy_login
            ? "已保存的用户名和密码不显示；地址不变就继续使用。留空表示同渠道，direct 表示直连。"
            : "类型://用户:密码@主机:端口。用户名中可用 {key_hash}、{channel_id}、{random}。留空表示同渠道，direct 表示直连。"
        }
        className="tg-code"
        spellCheck={false}
        maxLength={1000}
        placeholder="socks5h://user-{key_hash}:password@proxy.example.com:1080"
      />
    </FormDialog>
  );
}

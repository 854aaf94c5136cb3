// What can be set of one key: its name, share, models and way out. The key itself is replaced by adding another one.
import { Form, Select } from "antd";
import { useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { clearable } from "#console/ui/clearable.tsx";
import { FormDialog } from "#console/ui/form-dialog.tsx";
import { NumberInput } from "#console/ui/number-input.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { type ChannelKey, channelKeyApi } from "#contract/channel-key.ts";
import { keyName } from "./key-columns.tsx";
import { LimitInputs } from "./limit-fields.tsx";
import { type LimitValues, limitsOf, limitValues } from "./limit-values.ts";

interface Values extends LimitValues {
  readonly name: string;
  readonly weight: number | null;
  readonly models: readonly string[];
  readonly proxy: string;
}

export interface KeyDialogProps {
  readonly id: number;
  readonly row: ChannelKey;
  readonly models: readonly string[];
  readonly onClose: () => void;
}

export function KeyDialog({ id, row, models, onClose }: KeyDialogProps) {
  const update = useCall(channelKeyApi.update, {
    invalidates: [channelKeyApi.list],
    onSuccess: () => {
      toast.success("密钥已保存");
      onClose();
    },
  });
  const send = ({ name, weight, models: chosen, proxy, ...limits }: Values) =>
    update.mutate({
      params: { id },
      body: {
        ids: [row.id],
        name: name.trim(),
        weight: weight ?? 0,
        models: [...chosen],
        limits: limitsOf(limits),
        ...(proxy.trim() === row.proxy ? {} : { proxy: proxy.trim() }),
      },
    });
  return (
    <FormDialog<Values>
      title={`编辑密钥 ${keyName(row)}`}
      width={520}
      okText="保存"
      isBusy={update.isPending}
      initialValues={{
        name: row.name,
        weight: row.weight,
        models: row.models,
        proxy: row.proxy,
        ...limitValues(row.limits),
      }}
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

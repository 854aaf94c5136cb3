// Where a price list comes from: an address that the server reads, a file, or pasted text. Comparing it makes a draft.
import { InboxOutlined } from "@ant-design/icons";
import { Button, Form, Input, Select } from "antd";
import { useRef } from "react";
import { useNavigate } from "react-router";
import { useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { Section } from "#console/ui/section.tsx";
import { MOST_LIST_BYTES, priceDraftApi } from "#contract/price-draft.ts";
import { PRICE_FORMATS, type PriceFormat } from "#contract/price-list.ts";
import { FORMATS } from "./words.ts";

interface Source {
  format: PriceFormat | "";
  address: string;
  text: string;
  /** Of the file that `text` was read from. */
  file: string;
}

const NEW: Source = { format: "", address: "https://models.dev/api.json", text: "", file: "" };

/** Reads a file into the form, which compares it in place of an address. */
function FileButton() {
  const form = Form.useFormInstance<Source>();
  const input = useRef<HTMLInputElement>(null);
  const file: string = Form.useWatch("file", { form, preserve: true }) ?? "";
  const read = async (picked: File) => {
    if (picked.size > MOST_LIST_BYTES) {
      toast.error("价目表最大 20 MiB");
      return;
    }
    form.setFieldsValue({ text: await picked.text(), file: picked.name, address: "" });
  };
  return (
    <Form.Item label="文件" extra="JSON，最大 20 MiB。">
      <input
        ref={input}
        type="file"
        accept=".json,application/json"
        className="tg-price-picker"
        tabIndex={-1}
        aria-label="价目表文件"
        onChange={({ target }) => {
          const [picked] = target.files ?? [];
          // The same file may be picked again after it was changed.
          if (picked !== undefined) void read(picked).finally(() => (target.value = ""));
        }}
      />
      <Button icon={<InboxOutlined aria-hidden="true" />} onClick={() => input.current?.click()}>
        选择文件
      </Button>
      {file === "" ? null : (
        <span className="tg-price-file">
          {file}
          <Button type="link" size="small" onClick={() => form.setFieldsValue({ text: "", file: "" })}>
            移除
          </Button>
        </span>
      )}
    </Form.Item>
  );
}

export function ListSource() {
  const [form] = Form.useForm<Source>();
  const navigate = useNavigate();
  const compare = useCall(priceDraftApi.create, {
    invalidates: [priceDraftApi.list],
    onSuccess: ({ id }) => void navigate(`/price/draft/${id}`),
  });
  const file: string = Form.useWatch("file", { form, preserve: true }) ?? "";
  return (
    <Section
      title="价目表"
      lead="填写价目表的地址、选择文件，或粘贴其内容。比较会存为草稿，除非开启了自动发布，不修改任何价格；只列出已有价格或渠道提供的模型，名称须完全一致，或列在设置的“价目表中的模型名称”里。"
    >
      <Form<Source>
        form={form}
        layout="vertical"
        initialValues={NEW}
        onFinish={() => compare.mutate({ body: { ...NEW, ...form.getFieldsValue(true) } })}
      >
        <Form.Item
          name="address"
          label="地址"
          extra="由服务器读取，最大 20 MiB；留空则使用下面的文件或内容。"
        >
          <Input autoComplete="off" spellCheck={false} maxLength={500} />
        </Form.Item>
        <FileButton />
        {file === "" ? (
          <Form.Item name="text" label="内容">
            <Input.TextArea rows={3} spellCheck={false} placeholder="JSON" />
          </Form.Item>
        ) : null}
        <Form.Item name="format" label="格式">
          <Select
            options={[
              { value: "", label: "自动识别" },
              ...PRICE_FORMATS.map((value) => ({ value, label: FORMATS[value] })),
            ]}
          />
        </Form.Item>
        <Button type="primary" htmlType="submit" loading={compare.isPending}>
          比较价格
        </Button>
      </Form>
    </Section>
  );
}

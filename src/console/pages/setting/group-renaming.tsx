// Gives a user group another name, everywhere at once: for super administrators.
import { useQueryClient } from "@tanstack/react-query";
import { Button, Form, Input, Select } from "antd";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { rule } from "#console/ui/fields.ts";
import { groupAdminApi } from "#contract/group-admin.ts";
import { readRatios } from "./ratio-rows.ts";

interface Names {
  readonly from: string;
  readonly to: string;
}

export function GroupRenaming({ ratios }: { readonly ratios: string }) {
  const [form] = Form.useForm<Names>();
  const [isAsked, ask] = useState(false);
  const queries = useQueryClient();
  const rename = useCall(groupAdminApi.rename, {
    onSuccess: async ({ users, channels, tokens, limits, plans }) => {
      ask(false);
      form.resetFields();
      toast.success(
        `已重命名：${users} 个用户、${channels} 个渠道、${tokens} 个令牌、${limits} 条限额、${plans} 个套餐随之修改`,
      );
      // Nearly every list shows groups.
      await queries.invalidateQueries();
    },
  });
  const names = Object.keys(readRatios("GroupRatio", ratios) ?? {}).filter((name) => name !== "default");
  if (names.length === 0) return null;
  return (
    <div className="tg-log-clearing">
      <h3>重命名分组</h3>
      <p>
        倍率、用户、渠道、令牌、限额、套餐、路由规则与登录规则一次改完，使用中的密钥不受影响；旧日志保留原来的名称。
      </p>
      {isAsked ? (
        <Form<Names>
          form={form}
          layout="vertical"
          requiredMark={false}
          onFinish={(values) => rename.mutate({ body: values })}
        >
          <div className="tg-form-inline">
            <Form.Item name="from" label="分组" rules={[{ required: true, message: "请选择分组" }]}>
              <Select
                className="tg-option-number"
                options={names.map((name) => ({ value: name, label: name }))}
              />
            </Form.Item>
            <Form.Item name="to" label="新名称" rules={[rule(groupAdminApi.rename.body.shape.to)]}>
              <Input autoComplete="off" maxLength={32} className="tg-option-number" />
            </Form.Item>
          </div>
          <div className="tg-form-inline">
            <Button type="primary" htmlType="submit" loading={rename.isPending}>
              确认重命名
            </Button>
            <Button onClick={() => ask(false)}>取消</Button>
          </div>
        </Form>
      ) : (
        <div className="tg-form-inline">
          <Button onClick={() => ask(true)}>重命名分组</Button>
        </div>
      )}
    </div>
  );
}

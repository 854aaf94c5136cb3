// Clears the second factors of a user who has lost them; the reason is kept in the audit log.
import { Button, Form, Input, Modal } from "antd";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { required } from "#console/ui/fields.ts";
import { factorApi } from "#contract/factor.ts";
import type { User } from "#contract/user.ts";

interface Values {
  readonly reason: string;
}

export function FactorReset({ user }: { readonly user: User }) {
  const [form] = Form.useForm<Values>();
  const [isOpen, setOpen] = useState(false);
  const reset = useCall(factorApi.reset, {
    onSuccess: () => {
      toast.success("两步验证已清除，该用户须重新登录！");
      setOpen(false);
    },
  });
  return (
    <section className="tg-card tg-section">
      <h2>两步验证</h2>
      <p>用户丢失手机与恢复码时使用：清除全部验证方式，结束所有会话与系统访问令牌，并邮件通知本人。</p>
      <Button danger onClick={() => setOpen(true)}>
        清除两步验证
      </Button>
      <Modal
        open={isOpen}
        title={`清除 ${user.username} 的两步验证`}
        width={440}
        okText="确认清除"
        okButtonProps={{ danger: true, loading: reset.isPending }}
        cancelText="取消"
        destroyOnHidden
        onOk={form.submit}
        onCancel={() => setOpen(false)}
      >
        <p>请先通过其他途径确认对方身份：清除后只凭密码即可登录。</p>
        <Form<Values>
          form={form}
          layout="vertical"
          requiredMark={false}
          onFinish={({ reason }) => reset.mutate({ body: { id: user.id, reason: reason.trim() } })}
        >
          <Form.Item name="reason" label="原因" rules={[required]}>
            <Input maxLength={200} placeholder="例如：手机丢失，已视频核实" />
          </Form.Item>
        </Form>
      </Modal>
    </section>
  );
}

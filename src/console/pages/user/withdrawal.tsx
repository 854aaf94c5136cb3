// Records a withdrawal that was paid out by hand: takes it from the balance of the partner plan, once (requirements B9).
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { query, useCall } from "#console/base/call.ts";
import { newActKey } from "#console/base/once.ts";
import { toast } from "#console/base/toast.ts";
import { required, rule } from "#console/ui/fields.ts";
import { FormDialog } from "#console/ui/form-dialog.tsx";
import { usePartnerTerms } from "#console/ui/partner-terms.ts";
import { TextField } from "#console/ui/text-field.tsx";
import { partnerApi, Withdrawal } from "#contract/partner.ts";
import { type User, userApi } from "#contract/user.ts";
import { userAdminApi } from "#contract/user-admin.ts";
import { withdrawableRule } from "./values.ts";

interface Values {
  readonly amount: string;
  readonly remark: string;
}

export interface WithdrawalDialogProps {
  readonly user: User;
  readonly onClose: () => void;
}

export function WithdrawalDialog({ user, onClose }: WithdrawalDialogProps) {
  // The list may be old: what is owed is asked for anew, and again after a refusal.
  const { data: fresh } = useQuery({
    ...query(userAdminApi.get, { params: { id: user.id } }),
    staleTime: 0,
    meta: { silent: true },
  });
  const balance = (fresh ?? user).invite_commission_balance;
  const { least_withdrawal: least } = usePartnerTerms();
  // One act, however often it is sent.
  const [idempotencyKey] = useState(newActKey);
  const withdraw = useCall(partnerApi.withdraw, {
    invalidates: [userAdminApi.list, userAdminApi.search, userAdminApi.get, userApi.self],
    onSuccess: (rest) => {
      toast.success(`提现已登记，剩余返现余额 ¥${rest}`);
      onClose();
    },
  });
  const send = ({ amount, remark }: Values) =>
    withdraw.mutate({
      body: { user_id: user.id, amount: amount.trim(), remark: remark.trim() },
      idempotencyKey,
    });
  return (
    <FormDialog<Values>
      title={`登记提现：${user.username}`}
      width={440}
      okText="确认已支付"
      isBusy={withdraw.isPending}
      lead={
        <p>
          返现余额 <strong>¥{balance}</strong>
          。请先通过支付宝或 USDT 完成付款，再在此登记；登记后从余额中扣除并写入该用户的日志。
        </p>
      }
      validateTrigger="onBlur"
      initialValues={{ amount: user.invite_commission_balance, remark: "" }}
      onFinish={send}
      onClose={onClose}
    >
      <TextField
        name="amount"
        label="提现金额"
        extra={`不少于 ${least} 元，最多 6 位小数。`}
        rules={[required, rule(withdrawableRule(balance, least))]}
        prefix="¥"
        inputMode="decimal"
        style={{ width: 200 }}
      />
      <TextField
        name="remark"
        label="备注"
        rules={[rule(Withdrawal.shape.remark.unwrap())]}
        maxLength={200}
        placeholder="例如：支付宝，流水号"
      />
    </FormDialog>
  );
}

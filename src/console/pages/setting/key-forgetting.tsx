// Deletes what opens the keys of all tokens, after typed words: for super administrators.
import { Button } from "antd";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { formatCount } from "#console/base/format.ts";
import { toast } from "#console/base/toast.ts";
import { TypedConfirm } from "#console/ui/typed-confirm.tsx";
import { FORGET_WORDS, tokenApi } from "#contract/token.ts";

export function KeyForgetting() {
  const [isAsked, ask] = useState(false);
  const forget = useCall(tokenApi.forgetAll, {
    invalidates: [tokenApi.list, tokenApi.search, tokenApi.get],
    onSuccess: (count) => {
      ask(false);
      toast.success(`${formatCount(count)} 个令牌的密钥原文已删除`);
    },
  });
  return (
    <div className="tg-log-clearing">
      <h3>已有令牌的密钥</h3>
      <p>
        删除所有令牌的密钥原文：使用中的密钥继续有效，但任何人都不能再查看，遗失时只能轮换。之前的备份里仍有加密的原文。
      </p>
      <div className="tg-form-inline">
        <Button danger onClick={() => ask(true)}>
          删除密钥原文
        </Button>
      </div>
      {isAsked ? (
        <TypedConfirm
          title="删除所有令牌的密钥原文？"
          expected={FORGET_WORDS}
          confirmText="确认删除"
          isBusy={forget.isPending}
          onConfirm={() => forget.mutate({ body: { confirm: FORGET_WORDS } })}
          onClose={() => ask(false)}
        >
          所有用户都不能再复制自己的密钥。此操作无法撤销。
        </TypedConfirm>
      ) : null}
    </div>
  );
}

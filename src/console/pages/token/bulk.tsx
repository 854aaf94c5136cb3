// What can be done to the chosen tokens at once: enable, disable, delete.
import { useQueryClient } from "@tanstack/react-query";
import { call } from "#console/base/call.ts";
import { hideRow, patchRow } from "#console/base/rows.ts";
import { BulkActions } from "#console/ui/bulk-actions.tsx";
import { type Token, TokenStatus, tokenApi } from "#contract/token.ts";

/** What shows a row of these. */
export const LISTS = [tokenApi.list, tokenApi.search] as const;

export interface TokenBulkProps {
  readonly tokens: readonly Token[];
  readonly onDone: (failed: readonly Token[]) => void;
}

export function TokenBulk({ tokens, onDone }: TokenBulkProps) {
  const client = useQueryClient();
  const setStatus = (status: number) => async (token: Token) => {
    const { id } = token;
    await call(tokenApi.update, { query: { status_only: "true" }, body: { id, status } });
    patchRow(client, LISTS, { id, ...{ status } });
  };
  const remove = async ({ id }: Token) => {
    await call(tokenApi.remove, { params: { id } });
    hideRow(client, LISTS, id);
  };
  return (
    <BulkActions<Token>
      rows={tokens}
      noun="令牌"
      nameOf={({ id, name }) => name || `#${id}`}
      lists={LISTS}
      onDone={onDone}
      acts={[
        { verb: "启用", act: setStatus(TokenStatus.enabled) },
        { verb: "禁用", act: setStatus(TokenStatus.disabled) },
        { verb: "删除", act: remove, warning: "使用它们的客户端会立即失效。" },
      ]}
    />
  );
}

// The versions of prices that were published, and the way back from the newest.
import { useQuery } from "@tanstack/react-query";
import { query, useCall } from "#console/base/call.ts";
import { formatCount } from "#console/base/format.ts";
import { isRoot, useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { TimeText } from "#console/ui/value-text.tsx";
import { optionApi } from "#contract/option.ts";
import { type PriceVersion, priceListApi } from "#contract/price-list.ts";
import { PriceRows } from "./rows.tsx";

const versionsQuery = query(priceListApi.versions, { query: { before: 0 } });

function Version({ row }: { readonly row: PriceVersion }) {
  const undo = useCall(priceListApi.undo, {
    invalidates: [priceListApi.versions, optionApi.list],
    onSuccess: () => toast.success("价格已恢复到发布之前！"),
  });
  const isSuper = isRoot(useUser());
  const { id, created_at, username, reason, source, models, undoes, can_undo } = row;
  return (
    <li className="tg-price-version">
      <strong>
        版本 {id}
        {undoes > 0 ? `（撤销版本 ${undoes}）` : ""}：{reason}
      </strong>
      <span className="tg-price-facts">
        <TimeText seconds={created_at} /> · {username} · {formatCount(models)} 个模型
        {source === "" ? "" : ` · ${source}`}
      </span>
      {can_undo && isSuper ? (
        <ConfirmButton
          size="small"
          loading={undo.isPending}
          question={`撤销版本 ${id}？这些模型的价格会回到发布之前。`}
          confirmText="撤销"
          onConfirm={() => undo.mutate({ params: { id }, body: { reason: `撤销：${reason}`.slice(0, 200) } })}
        >
          撤销
        </ConfirmButton>
      ) : null}
    </li>
  );
}

export function Versions() {
  return (
    <PriceRows
      title="已发布的版本"
      lead="进行中的调用按开始时的价格结算；撤销只影响之后的调用。"
      none="还没有从价目表发布过价格。"
      asked={useQuery(versionsQuery)}
      show={(row) => <Version key={row.id} row={row} />}
    />
  );
}

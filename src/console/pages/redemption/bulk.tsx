// What can be done to the chosen codes at once: enable, disable, delete.
import { useQueryClient } from "@tanstack/react-query";
import { call } from "#console/base/call.ts";
import { hideRow, patchRow } from "#console/base/rows.ts";
import { BulkActions } from "#console/ui/bulk-actions.tsx";
import { type Redemption, RedemptionStatus, redemptionApi } from "#contract/redemption.ts";

/** What shows a row of these. */
export const LISTS = [redemptionApi.list, redemptionApi.search] as const;

export interface CodeBulkProps {
  readonly codes: readonly Redemption[];
  readonly onDone: (failed: readonly Redemption[]) => void;
}

export function CodeBulk({ codes, onDone }: CodeBulkProps) {
  const client = useQueryClient();
  const setStatus = (status: number) => async (code: Redemption) => {
    const { id } = code;
    await call(redemptionApi.update, { query: { status_only: "true" }, body: { id, status } });
    patchRow(client, LISTS, { id, ...{ status } });
  };
  const remove = async ({ id }: Redemption) => {
    await call(redemptionApi.remove, { params: { id } });
    hideRow(client, LISTS, id);
  };
  return (
    <BulkActions<Redemption>
      rows={codes}
      noun="兑换码"
      nameOf={({ id, name }) => `${name} #${id}`}
      lists={LISTS}
      onDone={onDone}
      acts={[
        { verb: "启用", act: setStatus(RedemptionStatus.unused), permission: "redemption.write" },
        { verb: "禁用", act: setStatus(RedemptionStatus.disabled), permission: "redemption.write" },
        { verb: "删除", act: remove, permission: "redemption.delete", warning: "此操作无法撤销。" },
      ]}
    />
  );
}

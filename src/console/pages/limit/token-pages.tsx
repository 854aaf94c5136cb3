// The limits of one token, of one's own or, for administrators, of another user, and the form of one of them.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useParams } from "react-router";
import { formQuery, query, useCall } from "#console/base/call.ts";
import { wide } from "#console/base/language.ts";
import { useMay } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { BoostDialog, boostAction, boosted } from "#console/ui/boost-dialog.tsx";
import { FormPage, oneOf } from "#console/ui/form-page.tsx";
import { useToForm, useToList } from "#console/ui/form-way.ts";
import { Page } from "#console/ui/page.tsx";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { rowsOf } from "#console/ui/resource-table.tsx";
import { AddLink, deleteAction, editAction } from "#console/ui/row-actions.tsx";
import { usePathHere } from "#console/ui/team-context.ts";
import { type Limit, type LimitDraft, limitApi, type OwnedBoost } from "#contract/limit.ts";
import { tokenApi } from "#contract/token.ts";
import { userTokenApi } from "#contract/user-token.ts";
import { LimitFields } from "./fields.tsx";
import { LimitTable } from "./table.tsx";
import { draftOf, type LimitValues, tokenDrafts, tokenDraftsWithout, valuesOf } from "./values.ts";
import { whatText } from "./words.ts";

const STALE = [limitApi.ofToken, limitApi.self, userTokenApi.limits] as const;

/** The token that the address names, and how its limits are read, set and raised. */
function useTokenLimits(onSuccess: () => void, onBoosted: () => void = () => undefined) {
  const { token, user } = useParams();
  const here = usePathHere();
  const id = Number(token);
  const owner = Number(user);
  const isOwn = user === undefined;
  const options = { invalidates: STALE, onSuccess };
  const setOwn = useCall(limitApi.setOfToken, options);
  const setUsers = useCall(userTokenApi.setLimits, options);
  const boostOwn = useCall(limitApi.boostOfToken, boosted(STALE, onBoosted));
  const boostUsers = useCall(userTokenApi.boostLimit, boosted(STALE, onBoosted));
  const own = { params: { id } };
  const users = { params: { id: owner, token: id } };
  return {
    id,
    isOwn,
    base: isOwn ? here(`/token/limit/${id}`) : `/user/token/${owner}/limit/${id}`,
    load: isOwn ? query(limitApi.ofToken, own) : query(userTokenApi.limits, users),
    loadForm: isOwn ? formQuery(limitApi.ofToken, own) : formQuery(userTokenApi.limits, users),
    set: (limits: LimitDraft[]) =>
      isOwn
        ? setOwn.mutateAsync({ ...own, body: { limits } })
        : setUsers.mutateAsync({ ...users, body: { limits } }),
    isBoosting: boostOwn.isPending || boostUsers.isPending,
    boost: (body: OwnedBoost) =>
      isOwn ? boostOwn.mutate({ ...own, body }) : boostUsers.mutate({ ...users, body }),
  };
}

export function TokenLimitPage() {
  const [raised, setRaised] = useState<Limit>();
  const { id, isOwn, base, load, set, boost, isBoosting } = useTokenLimits(
    () => toast.success(),
    () => setRaised(undefined),
  );
  const toForm = useToForm();
  const token = useQuery({
    ...query(tokenApi.get, { params: { id } }),
    meta: { silent: true },
    enabled: isOwn,
  });
  const found = useQuery(load);
  const mayWrite = useMay("user.write") || isOwn;
  const add = mayWrite ? <AddLink to={`${base}/add`} text="添加新的限额" /> : null;
  return (
    <Page
      title={token.data === undefined ? "令牌限额" : `令牌限额：${token.data.name}`}
      isComing={token.isLoading}
      lead="只限制这个令牌；账户、分组与全站的限额另外计算，须同时满足。"
      extra={add}
    >
      <LimitTable
        name="token-limit"
        label="令牌的限额列表"
        load={() => rowsOf(load)}
        actions={(row) =>
          mayWrite
            ? [
                editAction(() => toForm(`${base}/edit/${row.id}`)),
                boostAction(() => setRaised(row)),
                deleteAction(
                  () => void set(tokenDraftsWithout(found.data ?? [row], row.id)).catch(() => undefined),
                  `删除限额“${whatText(row)}”？`,
                ),
              ]
            : []
        }
        actionsWidth={wide(178, 162)}
        empty={{ text: "这个令牌还没有限额。", action: add }}
      />
      {raised === undefined ? null : (
        <BoostDialog
          title={whatText(raised)}
          limit={raised}
          isBusy={isBoosting}
          onSend={(body) => boost({ ...body, limit_id: raised.id })}
          onClose={() => setRaised(undefined)}
        />
      )}
    </Page>
  );
}

function TokenLimitForm({ row }: { readonly row: Limit | undefined }) {
  const { base, loadForm, set } = useTokenLimits(() => toast.success("限额已保存！"));
  const toList = useToList(base);
  const all = useQuery(loadForm);
  const submit = async (values: LimitValues) => {
    // Sent without the others they would be removed.
    const rows = all.data ?? (await all.refetch({ throwOnError: true })).data ?? [];
    return set(tokenDrafts(rows, draftOf(values), row?.id));
  };
  return (
    <ResourceForm<LimitValues>
      initial={valuesOf(row)}
      kept={["kind", "amount", "time_window", "mode", "model_pattern"]}
      onSubmit={submit}
      onDone={toList}
      onCancel={toList}
    >
      {() => <LimitFields />}
    </ResourceForm>
  );
}

export function TokenLimitFormPage() {
  const { loadForm } = useTokenLimits(() => undefined);
  return (
    <FormPage<Limit> load={oneOf(loadForm, "找不到该限额")}>{(row) => <TokenLimitForm row={row} />}</FormPage>
  );
}

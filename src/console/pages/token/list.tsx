// My tokens: copy, enable and disable, edit, delete.

import { ControlOutlined } from "@ant-design/icons";
import { useCallback, useMemo, useState } from "react";
import { useNavigate } from "react-router";
import { useCall } from "#console/base/call.ts";
import { wide } from "#console/base/language.ts";
import { logPath, ownLogPath } from "#console/base/log-path.ts";
import { changesRow, removesRow } from "#console/base/rows.ts";
import { useUser } from "#console/base/session.ts";
import { useServerAddress } from "#console/base/status.ts";
import { ClippedText } from "#console/ui/cell.tsx";
import { CopyButton } from "#console/ui/copy-button.tsx";
import { useToForm } from "#console/ui/form-way.ts";
import { emptyOf, ListFilters, useAddressFilters } from "#console/ui/list-filters.tsx";
import { Page } from "#console/ui/page.tsx";
import { blocksOf, listOf, ResourceTable } from "#console/ui/resource-table.tsx";
import { AddLink, deleteAction, editAction, logAction, toggleAction } from "#console/ui/row-actions.tsx";
import type { Column, RowAction } from "#console/ui/row-view.ts";
import { useAddress } from "#console/ui/table-state.ts";
import type { SearchDraft } from "#console/ui/table-toolbar.tsx";
import { pathIn, useTeam } from "#console/ui/team-context.ts";
import { type Token, TokenStatus, tokenApi } from "#contract/token.ts";
import { LISTS, TokenBulk } from "./bulk.tsx";
import { CopyKey, Expiry, Key, Name, RemainingQuota, State } from "./cells.tsx";
import { ClientDialog } from "./client-dialog.tsx";
import { TOKEN_FILE, TOKEN_FILTERS } from "./filters.ts";
import { RotateDialog } from "./rotate.tsx";
import "./list.css";

const columnsOf = (onTag: (tag: string) => void): readonly Column<Token>[] => [
  {
    key: "name",
    title: "名称",
    render: (row) => <Name row={row} onTag={onTag} />,
    isFixed: true,
    isSortable: true,
    isInHead: true,
    width: wide(126, 104),
  },
  { key: "status", title: "状态", cell: State, isSortable: true, isInHead: true, width: wide(86, 86) },
  { key: "key", title: "密钥", cell: Key, width: 146 },
  {
    key: "used_quota",
    title: "已用额度",
    shows: "quota",
    isSortable: true,
    isNumber: true,
    width: wide(84, 74),
  },
  {
    key: "remain_quota",
    title: "剩余额度",
    cell: RemainingQuota,
    isSortable: true,
    isNumber: true,
    width: 110,
  },
  { key: "created_time", title: "创建时间", shows: "time", isSortable: true, width: wide(152, 150) },
  {
    key: "accessed_time",
    title: "最近使用",
    shows: "time",
    isSortable: true,
    isHiddenAtFirst: true,
    width: 164,
  },
  { key: "expired_time", title: "过期时间", cell: Expiry, isSortable: true, width: wide(152, 140) },
  {
    key: "groups",
    title: "分组",
    render: ({ groups }) => <ClippedText text={groups.join(" → ")} none="账户的分组" />,
    isHiddenAtFirst: true,
    width: 160,
  },
];

const HOLDER: Column<Token> = { key: "holder", title: "持有人", shows: "text", width: 110 };

function useTokenActions() {
  const toForm = useToForm();
  const navigate = useNavigate();
  const user = useUser();
  const team = useTeam();
  const logOf = (token_name: string) =>
    team === 0 ? ownLogPath(user, { token_name }) : pathIn(team, logPath({ token_name }));
  const update = useCall(tokenApi.update, changesRow(LISTS, ["status"]));
  const remove = useCall(tokenApi.remove, removesRow(LISTS));
  return ({ id, name, status }: Token): RowAction[] => {
    const isEnabled = status === TokenStatus.enabled;
    const body = { id, status: isEnabled ? TokenStatus.disabled : TokenStatus.enabled };
    return [
      toggleAction(isEnabled, () => update.mutate({ query: { status_only: "true" }, body })),
      editAction(() => toForm(pathIn(team, `/token/edit/${id}`))),
      {
        ...logAction(() => void navigate(logOf(name))),
        // Entries are found by the name.
        isDisabled: name === "",
      },
      {
        key: "limit",
        label: "限额",
        icon: <ControlOutlined aria-hidden="true" />,
        onClick: () => toForm(pathIn(team, `/token/limit/${id}`)),
      },
      deleteAction(() => remove.mutate({ params: { id } }), `删除令牌“${name}”？使用它的客户端会立即失效。`),
    ];
  };
}

/** The base address that clients need, ready to copy. */
function AddressBar() {
  const address = `${useServerAddress()}/v1`;
  return (
    <div className="tg-address-bar">
      <span>接口地址</span>
      <code className="tg-code">{address}</code>
      <CopyButton text={address} label="复制接口地址" />
      <span className="tg-address-note">兼容 OpenAI 接口，把客户端的 Base URL 换成它即可</span>
    </div>
  );
}

export function TokenListPage() {
  const actions = useTokenActions();
  const user = useUser();
  const [refused, setRefused] = useState<SearchDraft>();
  const [rotated, setRotated] = useState<Token>();
  const [setUp, setSetUp] = useState<Token>();
  const filters = useAddressFilters(TOKEN_FILTERS);
  const [, change] = useAddress();
  const team = useTeam();
  const add = <AddLink to={pathIn(team, "/token/add")} text="添加新的令牌" />;
  const setTag = useCallback((tag: string) => change({ tag, page: "" }, { replace: true }), [change]);
  const columns = useMemo(() => {
    const own = columnsOf(setTag);
    return team === 0 ? own : [...own.slice(0, 2), HOLDER, ...own.slice(2)];
  }, [setTag, team]);
  const filter = { ...filters.filter, team_id: team };
  return (
    <Page
      lead={
        team === 0
          ? "令牌是调用接口用的密钥，可以分别限定额度、期限与模型。"
          : "由团队的钱包付费；他人的密钥不会显示。"
      }
      extra={add}
    >
      <AddressBar />
      <ResourceTable<Token>
        key={team}
        name="token"
        label="令牌列表"
        searchHint="搜索令牌的名称"
        searchDraft={refused}
        filters={
          <ListFilters label="令牌筛选" fields={TOKEN_FILTERS} {...filters} onChange={filters.change} />
        }
        load={listOf(tokenApi, filter)}
        file={{ name: "令牌", columns: TOKEN_FILE, block: blocksOf(tokenApi, filter) }}
        columns={columns}
        actions={actions}
        bulk={(tokens, onDone) => <TokenBulk tokens={tokens} onDone={onDone} />}
        actionsWidth={wide(326, 368)}
        lead={(token) =>
          token.holder !== "" && token.holder !== user?.username ? null : (
            <CopyKey
              token={token}
              onRotate={() => setRotated(token)}
              onSetUp={() => setSetUp(token)}
              onRefused={(text) => setRefused({ text })}
            />
          )
        }
        cardTitle={(token) => <Name row={token} onTag={setTag} />}
        cardState={(token) => <State row={token} />}
        cardFacts={["used_quota", "remain_quota", "created_time", "expired_time"]}
        empty={emptyOf(filters, { text: "还没有令牌。添加一个，就可以开始调用接口。", action: add })}
      />
      {setUp === undefined ? null : <ClientDialog token={setUp} onClose={() => setSetUp(undefined)} />}
      {rotated === undefined ? null : (
        <RotateDialog token={rotated} lists={LISTS} onClose={() => setRotated(undefined)} />
      )}
    </Page>
  );
}

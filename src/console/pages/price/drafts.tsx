// The drafts of prices that were kept, newest first.
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { query } from "#console/base/call.ts";
import { formatCount } from "#console/base/format.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { TimeText } from "#console/ui/value-text.tsx";
import { type PriceDraftHead, priceDraftApi } from "#contract/price-draft.ts";
import { PriceRows } from "./rows.tsx";
import { STATES } from "./words.ts";

const draftsQuery = query(priceDraftApi.list, {});

function Draft({ row }: { readonly row: PriceDraftHead }) {
  const { id, source, state, created_at, username, changed, listed } = row;
  return (
    <li className="tg-price-row">
      <Link to={`/price/draft/${id}`}>
        草稿 {id}：{source}
      </Link>
      <StatusTag {...STATES[state]} />
      <span className="tg-price-facts">
        <TimeText seconds={created_at} /> · {username} · 价目表中 {formatCount(listed)} 个模型，
        {formatCount(changed)} 个有变化
      </span>
    </li>
  );
}

export function Drafts() {
  return (
    <PriceRows
      title="草稿"
      lead="比较的结果会保留，由超级管理员批准后再发布。"
      none="还没有草稿。"
      asked={useQuery(draftsQuery)}
      show={(row) => <Draft key={row.id} row={row} />}
    />
  );
}

// The users that registered by my invitation, ten to a page (requirements B9).
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Pagination, Skeleton, Table } from "antd";
import { useState } from "react";
import { query } from "#console/base/call.ts";
import { formatCount } from "#console/base/format.ts";
import { pageCount } from "#console/base/paging.ts";
import { pageItem } from "#console/ui/page-item.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { TimeText } from "#console/ui/value-text.tsx";
import { partnerApi } from "#contract/partner.ts";

const SIZE = 10;

interface FriendRow {
  readonly key: number;
  readonly invited_time: number;
  readonly username: string;
}

const COLUMNS = [
  {
    key: "invited_time",
    title: "邀请时间",
    render: (_value: unknown, row: FriendRow) => <TimeText seconds={row.invited_time} />,
  },
  {
    key: "username",
    title: "用户名",
    className: "tg-friends-name",
    render: (_value: unknown, row: FriendRow) => row.username,
  },
];

export function Friends() {
  const [page, setPage] = useState(1);
  const friends = useQuery({
    ...query(partnerApi.friends, { query: { page, size: SIZE } }),
    placeholderData: keepPreviousData,
  });
  // Friends have no id of their own; their place in the list is steady enough for one page.
  const rows = (friends.data?.data ?? []).map((friend, index) => ({ ...friend, key: index }));
  const total = friends.data?.total;
  const pages = pageCount({ page: page - 1, size: SIZE, received: rows.length, total });
  const hasFriends = page > 1 || rows.length > 0;
  return (
    <section className="tg-card tg-section" aria-labelledby="tg-friends">
      <h2 id="tg-friends">我的好友</h2>
      {hasFriends && total !== undefined ? <p>共邀请了 {formatCount(total)} 位好友。</p> : null}
      {friends.isPending ? <Skeleton active title={false} paragraph={{ rows: 3 }} /> : null}
      {friends.isError && friends.data === undefined ? (
        <ErrorState error={friends.error} onRetry={() => void friends.refetch()} />
      ) : null}
      {friends.data === undefined ? null : (
        <Table<FriendRow>
          size="middle"
          columns={COLUMNS}
          dataSource={rows}
          pagination={false}
          locale={{ emptyText: "还没有好友。通过你的邀请链接注册的用户会出现在这里。" }}
        />
      )}
      {pages === 1 ? null : (
        <Pagination
          itemRender={pageItem}
          className="tg-friends-pages"
          current={page}
          pageSize={SIZE}
          total={pages * SIZE}
          showSizeChanger={false}
          onChange={setPage}
        />
      )}
    </section>
  );
}

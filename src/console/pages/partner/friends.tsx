// Who came by my invitation, ten to a page (spec §9).
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Pagination, Table } from "antd";
import { useState } from "react";
import { query } from "#console/base/call.ts";
import { formatCount } from "#console/base/format.ts";
import { ErrorState } from "#console/ui/table-states.tsx";
import { TimeText } from "#console/ui/time-text.tsx";
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
    render: (_value: unknown, row: FriendRow) => row.username,
  },
];

export function Friends() {
  const [page, setPage] = useState(1);
  const friends = useQuery({
    ...query(partnerApi.friends, { query: { page, size: SIZE } }),
    placeholderData: keepPreviousData,
  });
  const total = friends.data?.total ?? 0;
  // Friends have no id of their own; their place in the list is steady enough for one page.
  const rows = (friends.data?.data ?? []).map((friend, index) => ({ ...friend, key: index }));
  return (
    <section className="tg-card tg-section" aria-labelledby="tg-friends">
      <h2 id="tg-friends">我的好友</h2>
      <p>
        {total === 0 ? "通过您的邀请链接注册的用户会出现在这里。" : `共邀请了 ${formatCount(total)} 位好友。`}
      </p>
      {friends.isError && friends.data === undefined ? (
        <ErrorState error={friends.error} onRetry={() => void friends.refetch()} />
      ) : (
        <Table<FriendRow>
          size="middle"
          columns={COLUMNS}
          dataSource={rows}
          loading={friends.isPending}
          pagination={false}
          locale={{ emptyText: "还没有好友，把邀请链接分享出去吧。" }}
        />
      )}
      {total <= SIZE ? null : (
        <Pagination
          className="tg-friends-pages"
          current={page}
          pageSize={SIZE}
          total={total}
          showSizeChanger={false}
          onChange={setPage}
        />
      )}
    </section>
  );
}

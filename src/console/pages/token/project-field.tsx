// The project of a team that a token belongs to. Teams without projects show nothing.
import { useQuery } from "@tanstack/react-query";
import { Form, Select } from "antd";
import { query } from "#console/base/call.ts";
import { teamApi } from "#contract/team.ts";

export function ProjectField({ team }: { readonly team: number }) {
  const projects = useQuery({
    ...query(teamApi.projects, { params: { id: team }, query: { days: 30 } }),
    enabled: team !== 0,
    staleTime: 10_000,
    meta: { silent: true },
  });
  const options = (projects.data ?? []).map(({ id, name }) => ({ value: id, label: name }));
  // The value is sent all the same: an edit must not take a token out of its project.
  if (options.length === 0) return <Form.Item name="project_id" hidden noStyle />;
  return (
    <Form.Item name="project_id" label="项目" extra="调用计入项目的费用，并受项目的上限约束。">
      <Select options={[{ value: 0, label: "不属于项目" }, ...options]} />
    </Form.Item>
  );
}

// Creates or edits a channel.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { formQuery } from "#console/base/call.ts";
import { FormState } from "#console/ui/form-state.tsx";
import { Page } from "#console/ui/page.tsx";
import { channelApi } from "#contract/channel.ts";
import { ChannelForm } from "./fields.tsx";

function EditChannel({ id }: { readonly id: number }) {
  const channel = useQuery(formQuery(channelApi.get, { params: { id } }));
  if (channel.data === undefined)
    return <FormState error={channel.error} onRetry={() => void channel.refetch()} />;
  return <ChannelForm key={channel.data.id} channel={channel.data} />;
}

export function ChannelFormPage() {
  const { id } = useParams();
  return (
    <Page title={id === undefined ? "添加新的渠道" : "编辑渠道"} width="form">
      {id === undefined ? <ChannelForm /> : <EditChannel id={Number(id)} />}
    </Page>
  );
}

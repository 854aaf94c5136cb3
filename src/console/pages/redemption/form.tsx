// Makes a batch of redemption codes, or edits one.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { formQuery } from "#console/base/call.ts";
import { FormState } from "#console/ui/form-state.tsx";
import { Page } from "#console/ui/page.tsx";
import { redemptionApi } from "#contract/redemption.ts";
import { EditRedemptionForm, NewRedemptionForm } from "./fields.tsx";

function EditRedemption({ id }: { readonly id: number }) {
  const redemption = useQuery(formQuery(redemptionApi.get, { params: { id } }));
  if (redemption.data === undefined)
    return <FormState error={redemption.error} onRetry={() => void redemption.refetch()} />;
  return <EditRedemptionForm key={redemption.data.id} redemption={redemption.data} />;
}

export function RedemptionFormPage() {
  const { id } = useParams();
  return (
    <Page title={id === undefined ? "添加新的兑换码" : "编辑兑换码"} width="form">
      {id === undefined ? <NewRedemptionForm /> : <EditRedemption id={Number(id)} />}
    </Page>
  );
}

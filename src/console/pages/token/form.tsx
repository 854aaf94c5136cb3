// Creates or edits a token.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { formQuery } from "#console/base/call.ts";
import { FormState } from "#console/ui/form-state.tsx";
import { Page } from "#console/ui/page.tsx";
import { type Token, tokenApi } from "#contract/token.ts";
import { TokenForm } from "./fields.tsx";

function EditToken({ id }: { readonly id: number }) {
  const token = useQuery<Token>(formQuery(tokenApi.get, { params: { id } }));
  if (token.data === undefined) return <FormState error={token.error} onRetry={() => void token.refetch()} />;
  return <TokenForm key={token.data.id} token={token.data} />;
}

export function TokenFormPage() {
  const { id } = useParams();
  return (
    <Page title={id === undefined ? "添加新的令牌" : "编辑令牌"} width="form">
      {id === undefined ? <TokenForm /> : <EditToken id={Number(id)} />}
    </Page>
  );
}

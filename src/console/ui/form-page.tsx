// The page of a form that makes a row or edits the one that its address names, with what stands there while that row comes.
import { type UseQueryOptions, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useParams } from "react-router";
import type { Query } from "#console/base/call.ts";
import { Page } from "./page.tsx";
import { FormState } from "./table-states.tsx";

export interface FormPageProps<Row> {
  readonly load: (id: number) => UseQueryOptions<Row>;
  /** The form; undefined = of a new row. */
  readonly children: (row: Row | undefined) => ReactNode;
}

/** Loads the row that the address names from a list that comes whole. `fault` is said where it is not in it. */
export function oneOf<Row extends { readonly id: number }>(
  { queryKey, queryFn, ...asked }: Query<readonly Row[]>,
  fault: string,
): FormPageProps<Row>["load"] {
  return (id) => ({
    ...asked,
    queryKey: [...queryKey, id],
    queryFn: async (context) => {
      const found = (await queryFn(context)).find((row) => row.id === id);
      if (found === undefined) throw new Error(fault);
      return found;
    },
  });
}

function Edited<Row extends { readonly id: number }>({
  id,
  load,
  children,
}: FormPageProps<Row> & { readonly id: number }) {
  const { data, error, refetch } = useQuery(load(id));
  return data === undefined ? <FormState error={error} onRetry={() => void refetch()} /> : children(data);
}

export function FormPage<Row extends { readonly id: number }>(props: FormPageProps<Row>) {
  const { id } = useParams();
  return (
    <Page width="form">
      {id === undefined ? props.children(undefined) : <Edited key={id} {...props} id={Number(id)} />}
    </Page>
  );
}

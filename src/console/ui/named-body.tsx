// The body of a table whose sticky head is a table of its own (antd): repeats the head unseen, so that each cell belongs to a header.
import { type ComponentProps, createContext, useContext } from "react";

/** The titles of all columns, from the start to the end. */
export const ColumnTitles = createContext<readonly string[]>([]);

/** For antd's `components.body.wrapper`; what it shows is antd's. */
export function NamedBody(props: ComponentProps<"tbody">) {
  const titles = useContext(ColumnTitles);
  return (
    <>
      <thead className="tg-named-head">
        <tr>
          {titles.map((title) => (
            <th key={title} scope="col">
              <span className="tg-hidden">{title}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody {...props} />
    </>
  );
}

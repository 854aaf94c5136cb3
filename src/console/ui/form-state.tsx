// What stands in place of a form while its resource loads, or when it cannot be loaded.
import { Skeleton } from "antd";
import { ErrorState } from "./table-states.tsx";

export interface FormStateProps {
  readonly error: Error | null;
  readonly onRetry: () => void;
}

export function FormState({ error, onRetry }: FormStateProps) {
  return (
    <div className="tg-card tg-section">
      {error === null ? (
        <Skeleton active paragraph={{ rows: 6 }} />
      ) : (
        <ErrorState error={error} onRetry={onRetry} />
      )}
    </div>
  );
}

// What empties a field, named in Chinese: antd would call the button "close-circle" or "Clear".
import { CloseCircleFilled } from "@ant-design/icons";

const label = "清除";

/** For `allowClear` of antd's inputs, which read the icon, and selects, which read the label. */
export const clearable = { clearIcon: <CloseCircleFilled aria-label={label} />, label };

// The sign that empties a field, named in Chinese: antd would call the button "close-circle".
import { CloseCircleFilled } from "@ant-design/icons";

/** For `allowClear` of antd's inputs. */
export const clearable = { clearIcon: <CloseCircleFilled aria-label="清除" /> };

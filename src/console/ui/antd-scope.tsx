// The scope of antd: our theme, its texts in our language, and dialogs that know both. Guest pages do without.
import { App, ConfigProvider } from "antd";
import enUS from "antd/locale/en_US";
import zhCN from "antd/locale/zh_CN";
import dayjs from "dayjs";
import "dayjs/locale/zh-cn";
import type { ReactNode } from "react";
import { useTheme } from "#console/base/theme.ts";
import "./antd-scope.css";

// The calendars of antd name months and days in the language of dayjs.
dayjs.locale(__LANGUAGE__ === "en" ? "en" : "zh-cn");

// By the name that the build replaces, so that each build has one language alone.
const texts = __LANGUAGE__ === "en" ? enUS : zhCN;

/** The year and the month above a calendar are named by what they show. */
const { DatePicker: picker } = texts;
const LOCALE = {
  ...texts,
  ...(picker && { DatePicker: { ...picker, lang: { ...picker.lang, yearSelect: "", monthSelect: "" } } }),
};

/** Pixels from above: toasts leave the header with its menus free. */
const TOASTS = { top: 68 } as const;

export function AntdScope({
  className,
  children,
}: {
  readonly className?: string;
  readonly children: ReactNode;
}) {
  return (
    <ConfigProvider locale={LOCALE} theme={useTheme()} button={{ autoInsertSpace: false }}>
      <App notification={TOASTS} {...(className === undefined ? { component: false } : { className })}>
        {children}
      </App>
    </ConfigProvider>
  );
}

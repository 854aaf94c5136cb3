// When calls come: a heat map of hour by weekday, which is a table for screen readers.
import { type PointerEvent, useMemo, useState } from "react";
import { formatCharge, formatCount } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import type { UsageReport } from "#contract/usage.ts";
import { type WeekHour, weekOf } from "./usage.ts";

const DAYS = ["周一", "周二", "周三", "周四", "周五", "周六", "周日"] as const;
const HOURS = Array.from({ length: 24 }, (_none, hour) => hour);
/** Shades from few to many; 0 = none. */
const LEVELS = [0, 1, 2, 3, 4, 5] as const;
const TOP_LEVEL = LEVELS.length - 1;

/** The root keeps quiet hours apart from silent ones beside a busy one. */
function levelOf(requests: number, most: number): number {
  return requests === 0 ? 0 : Math.max(1, Math.ceil(Math.sqrt(requests / most) * TOP_LEVEL));
}

const two = (value: number) => String(value).padStart(2, "0");

function Legend() {
  return (
    <span className="tg-heat-legend" aria-hidden="true">
      少
      {LEVELS.map((level) => (
        <i key={level} data-level={level} />
      ))}
      多
    </span>
  );
}

interface Cell {
  readonly day: number;
  readonly hour: number;
}

/** The cell under the pointer, by its position in the table. */
function cellOf(event: PointerEvent): Cell | undefined {
  const td = event.target instanceof Element ? event.target.closest("td") : null;
  if (td === null || !(td.parentElement instanceof HTMLTableRowElement)) return undefined;
  return { day: td.parentElement.sectionRowIndex, hour: td.cellIndex - 1 };
}

function Grid({ week }: { readonly week: readonly (readonly WeekHour[])[] }) {
  const most = Math.max(...week.flat().map(({ requests }) => requests));
  return (
    <table className="tg-heat">
      <thead>
        <tr>
          <td />
          {HOURS.map((hour) => (
            <th key={hour} scope="col">
              <span className={hour % 3 === 0 ? undefined : "tg-hidden"}>{hour}</span>
              <span className="tg-hidden"> 时</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {DAYS.map((name, day) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {HOURS.map((hour) => {
              const requests = week[day]?.[hour]?.requests ?? 0;
              return (
                <td key={hour} data-level={levelOf(requests, most)}>
                  <span className="tg-hidden">{requests}</span>
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function WeekMap({ report }: { readonly report: Pick<UsageReport, "weekly"> }) {
  const display = useQuotaDisplay();
  const week = useMemo(() => weekOf(report.weekly), [report]);
  const [cell, setCell] = useState<Cell>();
  const shown = cell === undefined ? undefined : week[cell.day]?.[cell.hour];
  return (
    <section className="tg-card tg-chart">
      <h2>使用时段</h2>
      <div
        className="tg-heat-box"
        onPointerOver={(event) => setCell(cellOf(event))}
        onPointerLeave={() => setCell(undefined)}
      >
        <Grid week={week} />
      </div>
      <p className="tg-heat-foot">
        <span>
          {cell === undefined || shown === undefined
            ? "按星期与小时统计请求次数（本地时间）"
            : `${DAYS[cell.day]} ${two(cell.hour)}:00–${two(cell.hour + 1)}:00：${formatCount(shown.requests)} 次请求，${formatCharge(shown.quota, display)}`}
        </span>
        <Legend />
      </p>
    </section>
  );
}

// The skeleton of the dashboard until its numbers are known: in its final shape, so that nothing moves when they come.
const FIGURES = ["first", "second", "third", "fourth", "fifth", "sixth"] as const;
const CHARTS = ["spend", "requests", "tokens", "failures", "first-bytes"] as const;

export function BoardBones() {
  return (
    <>
      <span className="tg-hidden" role="status">
        正在加载
      </span>
      <div className="tg-board-figures" aria-hidden="true">
        {FIGURES.map((name) => (
          <div key={name} className="tg-card tg-board-figure tg-board-bones">
            <span className="tg-bone" />
            <span className="tg-bone" />
            <span className="tg-bone" />
          </div>
        ))}
      </div>
      <div className="tg-charts" aria-hidden="true">
        {CHARTS.map((name) => (
          <div key={name} className={name === "spend" ? "tg-charts-wide" : undefined}>
            <div className="tg-card tg-chart tg-chart-bones">
              <span className="tg-bone" />
              <span className="tg-bone tg-chart-canvas" />
              <span className="tg-bone" />
            </div>
          </div>
        ))}
      </div>
    </>
  );
}

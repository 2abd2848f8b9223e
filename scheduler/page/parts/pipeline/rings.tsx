import type { Verdict } from '#bundles/schemas/types/hub-decisions';

type Condition = Verdict['conditions'][number];

/** The conditions of a gate as rings: a met one is closed, another one is filled by its progress. */
export const Rings = ({ conditions }: { readonly conditions: readonly Condition[] }) => (
  <ul className="rings">
    {conditions.map((condition) => (
      <li
        key={condition.name}
        title={`${condition.name}: wanted ${condition.wanted}, found ${condition.found}`}
      >
        <svg className={`ring ${condition.met ? 'good' : 'late'}`} viewBox="0 0 36 36" aria-hidden="true">
          <circle className="track" cx="18" cy="18" r="14" />
          <circle
            className="part"
            cx="18"
            cy="18"
            r="14"
            pathLength="100"
            strokeDasharray={`${100 * filledOf(condition)} 100`}
            transform="rotate(-90 18 18)"
          />
          {condition.met && <path className="tick" d="M11 18l5 5l9-10" />}
        </svg>
        <span>{condition.name}</span>
        <small>{condition.met ? 'met' : condition.found}</small>
      </li>
    ))}
  </ul>
);

/** From 0 to 1. A condition that is not counted is empty until it is met; one that is not met is never full. */
const filledOf = ({ met, progress }: Condition): number => {
  if (met) return 1;
  return progress === undefined || progress.wanted === 0
    ? 0
    : Math.min(0.95, progress.found / progress.wanted);
};

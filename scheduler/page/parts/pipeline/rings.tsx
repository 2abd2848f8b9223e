import type { Verdict } from '#bundles/transport/hub/client';

type Condition = Verdict['conditions'][number];

/** The conditions of a gate as rings: a met one is closed, another one is filled as far as its numbers say. */
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

/** From 0 to 1: '3 of 6 agents' is a half, and so is '1 by ann' where 2 are wanted; a condition without such numbers is empty until it is met. */
const filledOf = ({ met, found, wanted }: Condition): number => {
  if (met) return 1;
  const [, some = '0', all = '0'] =
    /(\d+) of (\d+)/.exec(found) ?? /^(\d+)\b.*\n(\d+)\b/.exec(`${found}\n${wanted}`) ?? [];
  return Number(all) === 0 ? 0 : Math.min(0.95, Number(some) / Number(all));
};

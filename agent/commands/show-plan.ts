import { formatCount } from '#bundles/format-count';
import type { Printed } from '#cli/format-table';
import type { MediumPlan } from '../daemon/plan-medium.ts';
import { describeSiteHold } from '../store/site-hold.ts';
import { describeAccepted } from './describe-accepted.ts';
import { showNext } from './show-next.ts';
import { showMissing } from './show-packages.ts';

/** Lines for people about what an import would accept and change. */
export const showPlan = (plan: MediumPlan): readonly Printed[] => {
  const { next, isNew, missing, held, frozen, relaxed, contradictingReceipts } = plan;
  return [
    `${isNew ? 'The import would accept' : 'Nothing is new on this medium:'} ${describeAccepted(plan)}`,
    ...(relaxed.length > 0 ? [`It would accept although expired: ${relaxed.join(', ')}.`] : []),
    ...(contradictingReceipts > 0
      ? ['RECEIPT_INVALID: the office acknowledges other events than this outbox has, so they would be kept.']
      : []),
    ...aboutImages(plan),
    ...(missing ? [showMissing(missing)] : []),
    ...(next.length === 0 ? ['No package would change.'] : [showNext(next)]),
    ...(next.length > 0 && held ? [`These changes wait: ${describeSiteHold(held)}`] : []),
    ...(next.length > 0 && !held && frozen
      ? [`These changes wait: ${frozen.causes.map(({ why, todo }) => `${why}; ${todo}`).join('; ')}`]
      : []),
    'Nothing was changed. An import also corrects what differs in the packages that stay: "fleet-agent diff" shows it.',
  ];
};

const aboutImages = ({ images: { brought, left } }: MediumPlan): readonly string[] => {
  const count = brought + left;
  if (count === 0) return [];
  const images = formatCount(count, 'container image');
  return [
    brought > 0
      ? `It would bring ${images}.`
      : `${images} would stay on the medium, because no image provider is configured.`,
  ];
};

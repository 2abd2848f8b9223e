import type { Operation } from './operations.ts';

/** How boundaries and logs call an operation: 'apply kiosk', 'apply kiosk (roll back)'. */
export const nameOf = ({ kind, assignment, rollingBack }: Operation): string =>
  `${kind} ${assignment}${rollingBack ? ' (roll back)' : ''}`;

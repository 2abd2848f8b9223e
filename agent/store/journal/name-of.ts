import type { Operation } from './operations.ts';

/** Name of an operation in boundaries and logs: 'apply kiosk', 'apply kiosk (roll back)'. */
export const nameOf = ({ kind, assignment, rollingBack }: Operation): string =>
  `${kind} ${assignment}${rollingBack ? ' (roll back)' : ''}`;

import { FleetError } from '#bundles/errors';

/** What one judgement of a value by a schema may cost. */
export type Meter = {
  /** @throws FleetError SCHEMA_INVALID when the budget is used up */
  readonly spend: (steps: number) => void;
  /** Fills the budget again, before the next judgement. */
  readonly refill: () => void;
};

/**
 * Steps of one judgement: one for each call and turn of a loop and each 512 bytes of the code that they run, more for an error and for
 * a character that a pattern reads. Schemas of people take a few thousand for their largest values; this many take about a second.
 */
export const MAX_STEPS = 5_000_000;

export const newMeter = (): Meter => {
  let left = MAX_STEPS;
  return {
    spend: (steps) => {
      left -= steps;
      if (left < 0)
        throw new FleetError(
          'SCHEMA_INVALID',
          `judging this value takes more than ${MAX_STEPS} steps: its references multiply, or its patterns and lists are too large`,
        );
    },
    refill: () => {
      left = MAX_STEPS;
    },
  };
};

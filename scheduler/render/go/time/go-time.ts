import { Opaque } from '../values/opaque.ts';
import { formatTime } from './format-time.ts';
import { type Moment, SECOND } from '../../../model/go/time/moment.ts';
import { UTC } from '../../../model/go/time/zone.ts';

/** Go's time.Time as a template value. */
export class GoTime extends Opaque {
  readonly moment: Moment;

  constructor(moment: Moment) {
    const show = (layout: string): string => formatTime(moment, layout);
    super(
      'time.Time',
      'struct',
      show('2006-01-02 15:04:05.999999999 -0700 MST'),
      show('2006-01-02T15:04:05.999999999Z07:00'),
    );
    this.moment = moment;
  }
}

/** Go's zero time, the start of year 1: sprig's toDate returns it for a text that is not a date. */
export const ZERO_TIME: Moment = { nanos: -62_135_596_800n * SECOND, zone: UTC };

// The years 0 to 9999: date parsers accept no others.
const FIRST = -62_167_219_200n;
const LAST = 253_402_300_799n;

/** Whether the year of the moment has at most four digits. */
export const isShowable = (nanos: bigint): boolean => nanos >= FIRST * SECOND && nanos <= LAST * SECOND;

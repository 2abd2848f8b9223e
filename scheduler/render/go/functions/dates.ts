import { fail, type Run, chargeSteps } from '../../run.ts';
import { isInt, plainInt, SizedInt } from '../../../model/go/number.ts';
import { durationText, parseDuration, roundedDuration } from '../time/duration.ts';
import { formatTime } from '../time/format-time.ts';
import { GoTime, isShowable, ZERO_TIME } from '../time/go-time.ts';
import { type Moment, SECOND } from '../../../model/go/time/moment.ts';
import { parseTime } from '../../../model/go/time/parse-time.ts';
import { UTC, zoneNamed } from '../../../model/go/time/zone.ts';
import { describeValue, type Value } from '../values/value.ts';
import { toBig } from './math.ts';
import { type FunctionTable, fixed } from './template-function.ts';

/**
 * sprig's date functions, for given times only: a result of toDate, or seconds since 1970. Where sprig would use the current
 * time, they fail. The local zone is UTC.
 */

const checked = (run: Run, moment: Moment): Moment =>
  isShowable(moment.nanos) ? moment : fail(run, 'the date is not in the years 0 to 9999');

const given = (run: Run, value: Value): Moment => {
  if (value instanceof GoTime) return value.moment;
  if (isInt(value)) return checked(run, { nanos: BigInt(plainInt(value)) * SECOND, zone: UTC });
  return fail(
    run,
    `a date is needed here, not ${describeValue(value)}: templates cannot read the clock`,
    'Give it a result of toDate, or the seconds since 1970 as an integer',
  );
};

const time = (run: Run, value: Value): GoTime =>
  value instanceof GoTime
    ? value
    : fail(run, `a result of toDate is needed here, not ${describeValue(value)}`);

const show = (run: Run, layout: string, value: Value, zone: string): string => {
  // Each part of a layout is searched among all known parts.
  chargeSteps(run, layout.length);
  return formatTime(checked(run, { ...given(run, value), zone: zoneNamed(zone) }), layout);
};

const read = (run: Run, layout: string, text: string): Moment | undefined => {
  chargeSteps(run, layout.length);
  return parseTime(layout, text);
};

const moved = (run: Run, by: bigint, { moment }: GoTime): GoTime =>
  new GoTime(checked(run, { ...moment, nanos: moment.nanos + by }));

const dateModify = fixed(['string', 'any'], (run, by, value) => {
  const duration = parseDuration(by);
  return duration === undefined ? time(run, value) : moved(run, duration, time(run, value));
});

const mustDateModify = fixed(['string', 'any'], (run, by, value) =>
  moved(run, parseDuration(by) ?? fail(run, `${JSON.stringify(by)} is not a duration`), time(run, value)),
);

const dateInZone = fixed(['string', 'any', 'string'], show);

/** The seconds that sprig's duration reads; it reads an int as 0. */
const secondsOf = (value: Value): bigint => {
  if (typeof value !== 'string') return value instanceof SizedInt ? BigInt(value.value) : 0n;
  return toBig(value);
};

const nanosOf = (run: Run, value: Value): bigint => {
  if (value instanceof GoTime) return fail(run, 'durationRound of a date would read the clock');
  if (typeof value === 'string') return parseDuration(value) ?? 0n;
  return value instanceof SizedInt ? BigInt(value.value) : 0n;
};

export const DATES: FunctionTable = {
  date: fixed(['string', 'any'], (run, layout, value) => show(run, layout, value, 'UTC')),
  dateInZone,
  date_in_zone: dateInZone,
  htmlDate: fixed(['any'], (run, value) => show(run, '2006-01-02', value, 'UTC')),
  htmlDateInZone: fixed(['any', 'string'], (run, value, zone) => show(run, '2006-01-02', value, zone)),
  toDate: fixed(
    ['string', 'string'],
    (run, layout, text) => new GoTime(read(run, layout, text) ?? ZERO_TIME),
  ),
  mustToDate: fixed(
    ['string', 'string'],
    (run, layout, text) =>
      new GoTime(
        read(run, layout, text) ??
          fail(run, `${JSON.stringify(text)} is not a date written as ${JSON.stringify(layout)}`),
      ),
  ),
  dateModify,
  date_modify: dateModify,
  mustDateModify,
  must_date_modify: mustDateModify,
  unixEpoch: fixed(['any'], (run, value) => {
    const { nanos } = time(run, value).moment;
    return String((nanos - (((nanos % SECOND) + SECOND) % SECOND)) / SECOND);
  }),
  duration: fixed(['any'], (_run, value) => durationText(BigInt.asIntN(64, secondsOf(value) * SECOND))),
  durationRound: fixed(['any'], (run, value) => roundedDuration(nanosOf(run, value))),
};

/** Colours of theme.css that lines and areas have. */
export type ChartColor = 'good' | 'quiet' | 'late' | 'bad' | 'silent' | 'never';

export type Curve = {
  readonly name: string;
  readonly color: ChartColor;
  readonly values: readonly number[];
};

export type ChartData = {
  /** ISO times, the oldest first. */
  readonly times: readonly string[];
  /** Each with a value for each time. */
  readonly curves: readonly Curve[];
  /** 'areas': each on top of the one before. 'steps': each keeps its value until the next time. */
  readonly form: 'areas' | 'steps';
  /** Upper end of the scale; undefined: the largest value. */
  readonly most?: number | undefined;
};

/** Where a value does not fit its schema, in the words of the library that judges authors' schemas (Ajv). */
export type Mistake = {
  /** A JSON pointer (RFC 6901) into the value. */
  readonly instancePath: string;
  readonly keyword: string;
  readonly message: string;
  readonly params?: {
    readonly additionalProperty?: string;
    readonly allowedValues?: readonly unknown[];
    readonly pattern?: string;
  };
};

/** Undefined where the value fits. */
export type Check = (value: unknown) => Mistake | undefined;

export const mistake = (keyword: string, message: string, params?: Mistake['params']): Mistake => ({
  instancePath: '',
  keyword,
  message,
  ...(params && { params }),
});

/** The mistake as whoever holds the value under this key sees it. */
export const under = (key: string | number, found: Mistake): Mistake => ({
  ...found,
  instancePath: `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}${found.instancePath}`,
});

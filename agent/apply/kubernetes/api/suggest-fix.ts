import type { Status } from './status.ts';

type Fix = {
  /** Reads the server's own words for its own faults; where they say something else, a later way or the general one is said. */
  readonly is: (said: Said) => boolean;
  readonly way: (said: Said) => string;
};

type Said = {
  readonly message: string;
  readonly causes: readonly {
    readonly reason?: string;
    readonly message?: string;
    readonly field?: string;
  }[];
  /** 'spec.ports[0].port and spec.type'; 'the object' where the server names no field. */
  readonly fields: string;
};

/** How server-side apply begins what it says of an object that its schema does not take, and the field that it names. */
const SCHEMA_ERROR = 'failed to create typed patch object';
const FIELD_OF_SCHEMA = /\): \.(\S+): /;
/** How the validation of definitions says that a null is there. */
const IS_NULL = /must be of type \w+: "null"/;

const FIXES: readonly Fix[] = [
  {
    is: ({ message, causes }) =>
      /^(?:etcdserver: r|R)equest (?:is|entity) too large/.test(message) ||
      causes.some(({ reason, field = '' }) => reason === 'FieldValueTooLong' && /^(?:\[\])?$/.test(field)),
    way: () => 'Split it into several objects, or keep the large content outside of the cluster',
  },
  {
    is: ({ causes }) => causes.some(({ field = '' }) => field.startsWith('status.storedVersions')),
    way: () =>
      'Keep that version in spec.versions (served: false hides it) until no object is stored in it and status.storedVersions no longer lists it',
  },
  {
    is: ({ causes }) => causes.some(({ message = '' }) => IS_NULL.test(message)),
    way: ({ fields }) => `Leave ${fields} out of the package, or write {} or [] for an empty value`,
  },
  {
    is: ({ causes }) => causes.length > 0 && causes.every(({ reason }) => reason === 'FieldValueRequired'),
    way: ({ fields }) => `Add ${fields} to the object in the package`,
  },
  {
    is: ({ message }) => message.startsWith(SCHEMA_ERROR) && message.includes('field not declared in schema'),
    way: ({ fields }) =>
      `Correct the name ${fields}, or install the version of Kubernetes or of the definition that has it`,
  },
  {
    is: ({ message }) => message.startsWith(SCHEMA_ERROR) && message.includes('duplicate entries for key'),
    way: ({ fields }) => `Keep one of the items with that key in ${fields}`,
  },
  {
    is: ({ message }) => message.includes('illegal base64 data'),
    way: () => 'Write the values of data in base64, or as text in stringData',
  },
];

/** Hint for the author of an object that the server refuses. @returns a sentence without a full stop */
export const suggestFix = ({ message = '', details }: Status): string => {
  const causes = details?.causes ?? [];
  const ofSchema = message.startsWith(SCHEMA_ERROR) ? (FIELD_OF_SCHEMA.exec(message)?.[1] ?? []) : [];
  const named = [...new Set(causes.flatMap(({ field }) => field ?? []).concat(ofSchema))].slice(0, 5);
  const fields = named.length === 0 ? 'the object' : named.join(' and ');
  const said = { message, causes, fields };
  return FIXES.find(({ is }) => is(said))?.way(said) ?? `Correct ${fields} in the package`;
};

/** Hint for a request that a policy, a webhook or a limit of the cluster denies. @param verb of the request, 'apply' */
export const suggestAfterDenial = (verb: string): string =>
  verb === 'delete'
    ? 'Have the owner of that rule of the cluster allow it'
    : 'Change in the package what it names, or have the owner of that rule of the cluster allow it';

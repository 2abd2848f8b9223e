/** Ends a switch that handles every case: the call does not compile when one is missing. */
export const unreachable = (value: never): never => {
  throw new TypeError(`unhandled case: ${JSON.stringify(value)}`);
};

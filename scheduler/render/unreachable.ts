/** Behind a switch that handles every case: the compiler refuses the call when one is forgotten. */
export const unreachable = (value: never): never => {
  throw new TypeError(`a case nobody thought of: ${JSON.stringify(value)}`);
};

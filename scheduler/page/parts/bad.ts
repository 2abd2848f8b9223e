/** Classes of an alert about an error: a red title with enough contrast. */
export const BAD = { title: 'bad-text' };

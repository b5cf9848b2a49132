"""An OpenAPI document with two operations, and findings."""

OPENAPI = """
openapi: 3.0.3
info: {title: Ferries}
paths:
  /crossings:
    get:
      operationId: listCrossings
      summary: List the crossings of a day.
      parameters:
        - {name: day, in: query, required: true, description: The day of departure., schema: {type: string}}
        - {name: class, in: query, schema: {type: string, enum: [car, foot]}}
      responses:
        '200':
          description: OK
          content:
            application/json:
              schema: {type: array, items: {type: object, properties: {crossing_id: {type: string}}}}
  /bookings:
    post:
      operationId: book crossing
      summary: Book a crossing.
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: '#/components/schemas/Booking'}}}
components:
  schemas:
    Booking:
      type: object
      required: [crossing_id, ghost]
      properties:
        crossing_id: {type: string, description: From listCrossings.}
        cars: {type: integer, description: How many.}
"""

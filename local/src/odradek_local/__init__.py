"""The local stack: a real Apache Kafka, a small real model and the five services, under one supervisor."""
